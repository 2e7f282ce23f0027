"""Device code compiles: every header alone, every kernel of the table without spills, serialised wgmma or ignored
register reallocation (ptxas's C75xx remarks), and with the instructions it is there for."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
KERNELS = HERE.parents[1] / "kernels"
ARCH = "sm_90a"
SKIPPED = 77

MAJORS = {"K": "abi::Major::K", "MN": "abi::Major::MN"}


def wgmma(tile_m, tile_n, stages, consumers=2, pingpong=False, lag=0, cluster=(1, 1), a="K", b="K", transposed=False,
          store=(64, 2), rows=0, columns=0, tile=False, activation=False, element="bf16"):
    fields = [tile_m, tile_n, stages, consumers, int(pingpong), lag, *cluster, MAJORS[a], MAJORS[b], int(transposed),
              *store]
    return {"CONFIG": ", ".join(map(str, fields)), "ROW_OPERANDS": rows, "COLUMN_OPERANDS": columns,
            "TILE_OPERAND": int(tile), "ACTIVATION": int(activation), "ELEMENT": element}


# name: kernel, registers of a thread at launch
TABLE = {
    "plain": (wgmma(128, 256, 4), 168),
    "plain fp16": (wgmma(128, 256, 4, cluster=(2, 1), element="fp16"), 168),
    "B shared": (wgmma(128, 256, 4, cluster=(2, 1)), 168),
    "A and B shared": (wgmma(128, 256, 4, cluster=(2, 2)), 168),
    "lag, bias, gelu": (wgmma(128, 256, 4, lag=2, cluster=(2, 1), columns=1, activation=True), 168),
    "A shared": (wgmma(256, 128, 4, lag=1, cluster=(1, 2)), 168),
    "192 accumulators": (wgmma(256, 192, 3, lag=1, cluster=(2, 1), columns=1, activation=True), 168),
    "pingpong": (wgmma(128, 192, 5, pingpong=True, store=(32, 2)), 168),
    "pingpong, bias, gelu": (wgmma(128, 192, 4, pingpong=True, cluster=(2, 1), columns=1, activation=True,
                                   store=(32, 2)), 168),
    "odd pieces": (wgmma(128, 168, 5, pingpong=True, columns=1, store=(56, 2)), 168),
    "three consumers": (wgmma(192, 192, 4, consumers=3, store=(32, 2)), 128),
    "one consumer": (wgmma(64, 128, 8, consumers=1), None),
    "full tensor": (wgmma(128, 256, 3, cluster=(2, 1), columns=1, tile=True, store=(64, 4)), 168),
    "A by columns": (wgmma(128, 256, 4, cluster=(2, 1), a="MN"), 168),
    "B by rows": (wgmma(128, 160, 4, b="MN", store=(32, 2)), 168),
    "A by columns, B by rows": (wgmma(256, 128, 4, cluster=(1, 2), a="MN", b="MN"), 168),
    "D by columns": (wgmma(128, 16, 8, transposed=True, store=(16, 2), rows=2, tile=True), 168),
    "8 columns": (wgmma(64, 8, 8, consumers=1, transposed=True, store=(8, 2)), None),
}
# What the static checks must refuse.
REFUSED = {
    "256 accumulators": wgmma(256, 256, 2),
    "shared memory": wgmma(128, 256, 5),
    "lag beyond the ring": wgmma(128, 256, 4, lag=4),
    "bank conflicts": wgmma(128, 192, 4, store=(96, 2)),
}


def toolkits():
    return [Path(os.environ[v]) for v in ("CUDA_HOME", "CUDA_PATH") if v in os.environ] + [Path("/usr/local/cuda")]


def find_nvrtc():
    for version in (13, 12):
        name = f"libnvrtc.so.{version}"
        for path in [name] + [str(t / lib / name) for t in toolkits() for lib in ("lib64", "lib")]:
            try:
                return ctypes.CDLL(path)
            except OSError:
                pass
    return None


def find_tool(name):
    return shutil.which(name) or next((str(t / "bin" / name) for t in toolkits() if (t / "bin" / name).exists()), None)


NVRTC = find_nvrtc()
NVCC = find_tool("nvcc")
CUOBJDUMP = find_tool("cuobjdump")


def nvrtc(source):
    """The machine code, or None, and the log."""
    program = ctypes.c_void_p()
    assert NVRTC.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None) == 0
    options = [f"--gpu-architecture={ARCH}", "-default-device", "--std=c++17", "--ptxas-options=-v", f"-I{KERNELS}"]
    status = NVRTC.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(
        *(o.encode() for o in options)))
    size = ctypes.c_size_t()
    NVRTC.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    NVRTC.nvrtcGetProgramLog(program, log)
    code = None
    if status == 0:
        NVRTC.nvrtcGetCUBINSize(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        NVRTC.nvrtcGetCUBIN(program, buffer)
        code = buffer.raw
    NVRTC.nvrtcDestroyProgram(ctypes.byref(program))
    return code, log.value.decode()


def nvcc(source):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cu"
        path.write_text(source)
        cubin = Path(folder) / "kernel.cubin"
        run = subprocess.run([NVCC, "-std=c++17", f"-gencode=arch={ARCH.replace('sm', 'compute')},code={ARCH}", "-Xptxas",
                              "-v", "-cubin", f"-I{KERNELS}", str(path), "-o", str(cubin)],
                             capture_output=True, text=True)
        return cubin.read_bytes() if run.returncode == 0 else None, run.stdout + run.stderr


def matmul(values):
    return "".join(f"#define {name} {value}\n" for name, value in values.items()) + SOURCE


def faults(log, registers):
    """What in the compiler's remarks makes a kernel unfit."""
    found = [line for line in log.splitlines() if "C75" in line]
    memory = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", log)
    if not memory or memory.groups() != ("0", "0", "0"):
        found.append(memory.group(0) if memory else "no report of the stack")
    used = re.search(r"Used (\d+) registers", log)
    if registers and (not used or int(used.group(1)) != registers):
        found.append(f"{used.group(0) if used else 'no report of registers'}, expected {registers}")
    return found


def instructions(code):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(code)
        return subprocess.run([CUOBJDUMP, "-sass", str(path)], capture_output=True, text=True, check=True).stdout


SOURCE = (HERE / "matmul_wgmma.cu").read_text()
DEVICE_FOLDERS = ("abi", "ptx", "tile", "mma", "families")
HEADERS = [str(p.relative_to(KERNELS)) for f in DEVICE_FOLDERS for p in sorted((KERNELS / f).rglob("*.*h"))]


class Compile(unittest.TestCase):
    def each(self, work, items):
        self.assertTrue(items)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for item, fault in zip(items, pool.map(work, items)):
                with self.subTest(item):
                    self.assertFalse(fault, fault)

    @unittest.skipUnless(NVRTC, "no NVRTC")
    def test_headers_alone_with_nvrtc(self):
        def work(header):
            code, log = nvrtc(f'#include "{header}"\n')
            return log if code is None else ""

        self.each(work, HEADERS)

    @unittest.skipUnless(NVCC, "no nvcc")
    def test_headers_alone_with_nvcc(self):
        def work(header):
            code, log = nvcc(f'#include "{header}"\n')
            return log if code is None else ""

        self.each(work, HEADERS)

    @unittest.skipUnless(NVRTC, "no NVRTC")
    def test_kernels_with_nvrtc(self):
        def work(name):
            values, registers = TABLE[name]
            start = time.thread_time()
            code, log = nvrtc(matmul(values))
            if code is None:
                return log
            print(f"{name}: {1e3 * (time.thread_time() - start):.0f} ms")
            found = faults(log, registers)
            if CUOBJDUMP and "HGMMA" not in instructions(code):
                found.append("no HGMMA")
            return "\n".join(found)

        self.each(work, list(TABLE))
        if not CUOBJDUMP:
            print("machine code not inspected: no cuobjdump")

    @unittest.skipUnless(NVCC, "no nvcc")
    def test_kernels_with_nvcc(self):
        for name in ("B shared", "pingpong, bias, gelu"):
            values, registers = TABLE[name]
            code, log = nvcc(matmul(values))
            self.assertIsNotNone(code, log)
            self.assertFalse(faults(log, registers), log)

    @unittest.skipUnless(NVRTC, "no NVRTC")
    def test_unfit_configurations_are_refused(self):
        for name, values in REFUSED.items():
            with self.subTest(name):
                code, log = nvrtc(matmul(values))
                self.assertIsNone(code)
                self.assertIn("static assertion failed", log)

    def test_faults_are_found(self):
        good = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nUsed 168 registers"
        self.assertFalse(faults(good, 168))
        self.assertTrue(faults(good, 128))
        self.assertTrue(faults(good.replace("0 bytes spill loads", "4 bytes spill loads"), 168))
        self.assertTrue(faults(good + "\n(C7510) Potential Performance Loss: wgmma serialized", 168))
        self.assertTrue(faults("", None))


if __name__ == "__main__":
    if not NVRTC and not NVCC:
        print("skipped: neither NVRTC nor nvcc was found (CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda)")
        sys.exit(SKIPPED)
    unittest.main()
