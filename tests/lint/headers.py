"""Lints that compile: every header stands alone, and the public ones cost little."""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

WARNINGS = ["-Wall", "-Wextra", "-Werror"]
ROUNDS = 5
COST_LIMIT = 2.0


def compile_alone(compiler, flags, header):
    source = f'#include "{header}"\n'
    command = [compiler, *WARNINGS, *flags, "-fsyntax-only", "-x", "c++", "-"]
    run = subprocess.run(command, input=source, capture_output=True, text=True)
    return None if run.returncode == 0 else f"{compiler}: {header}: does not compile alone\n{run.stderr}"


def check_alone(compilers, flags, headers):
    if not headers:
        return ["no header found"]
    work = [(compiler, header) for compiler in compilers for header in headers]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = [f for f in pool.map(lambda item: compile_alone(item[0], flags, item[1]), work) if f]
    print(f"{len(headers)} headers, {', '.join(compilers)}")
    return findings


def check_public(root, compilers):
    """Each public header compiles alone as C++17, without warnings."""
    headers = sorted((root / "include").rglob("*.h"))
    return check_alone(compilers, ["-std=c++17", f"-I{root}/include"], headers)


def check_internal(root, compilers):
    """Each header of a room and of the host-side kernels compiles alone as C++20."""
    headers = sorted((root / "src").rglob("*.h"))
    for folder in ("abi", "math"):
        headers += sorted((root / "kernels" / folder).rglob("*.h"))
    includes = [f"-I{root}/{folder}" for folder in ("src", "include", "kernels")]
    return check_alone(compilers, ["-std=c++20", "-fopenmp", *includes], headers)


def standard_headers(root):
    """The standard headers that fusednn.h reaches."""
    found, seen, pending = set(), set(), ["fusednn.h"]
    while pending:
        header = pending.pop()
        if header in seen:
            continue
        seen.add(header)
        for name in re.findall(r"^\s*#\s*include\s*<([^>]+)>", (root / "include" / header).read_text(), re.M):
            (pending.append if name.startswith("fusednn") else found.add)(name)
    return sorted(found)


def cpu_seconds(command):
    before = os.times()
    subprocess.run(command, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def check_cost(root, compilers):
    """A file that includes <fusednn.h> costs at most twice what its standard headers cost."""
    findings = []
    with tempfile.TemporaryDirectory() as scratch:
        ours, standard = Path(scratch, "ours.cpp"), Path(scratch, "standard.cpp")
        ours.write_text("#include <fusednn.h>\n")
        standard.write_text("".join(f"#include <{name}>\n" for name in standard_headers(root)))
        for compiler in compilers:
            command = [compiler, "-std=c++17", "-O2", f"-I{root}/include", "-c", "-o", "/dev/null"]
            rounds = [(cpu_seconds([*command, str(ours)]), cpu_seconds([*command, str(standard)]))
                      for _ in range(ROUNDS)]
            cost, base = (statistics.median(times) for times in zip(*rounds))
            line = f"{compiler}: {cost:.2f} s of CPU with <fusednn.h>, {base:.2f} s with its standard headers"
            print(f"{line}: {cost / base:.2f} times")
            if cost > COST_LIMIT * base:
                findings.append(f"{line}: more than {COST_LIMIT} times")
    return findings


CHECKS = {"public": check_public, "internal": check_internal, "cost": check_cost}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("check", choices=CHECKS)
    parser.add_argument("root", type=Path)
    parser.add_argument("compilers", nargs="+")
    arguments = parser.parse_args()
    findings = CHECKS[arguments.check](arguments.root.resolve(), arguments.compilers)
    print("\n".join(findings) or f"{arguments.check}: clean")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
