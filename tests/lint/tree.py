"""Lints that only read files. Each check takes the root of a source tree and returns its findings as lines."""

import argparse
import re
import sys
from pathlib import Path

CODE = {".h", ".cpp", ".cu", ".cuh"}
SCRIPTS = {".py", ".sh", ".cmake"}
CODE_FOLDERS = ("include", "src", "kernels", "python", "tools", "tests", "examples", "bench")
CLIENT_FOLDERS = ("python", "tools", "examples", "bench")

# docs/design.md, "Rooms": an include may only point to a lower level or into its own room.
LEVELS = {
    "base": 0,
    "target": 1, "ir": 1, "cuda": 1,
    "ops": 2,
    "serial": 3, "passes": 3,
    "codegen": 4,
    "jit": 5, "engine": 5,
    "engines/cpu": 6, "engines/cuda": 6,
    "plan": 7,
    "tune": 8,
    "frontend": 9,
}
# The parts of kernels/ that the host compiles too, and the lowest level that may use them.
HOST_KERNELS = {"abi": 2, "math": 0}

# The lowest level that may see a public header; those not named here are plain vocabulary, for every room.
PUBLIC_FLOOR = {
    "fusednn/tensor.h": 1,
    "fusednn/attributes.h": 1,
    "fusednn/handle.h": 7,
    "fusednn/graph.h": 9,
    "fusednn.h": 9,
}

# Libraries kept inside the rooms and clients named.
PRIVATE_LIBRARIES = {
    re.compile(r"nlohmann/"): ("src/serial", "tools", "tests", "examples"),
    re.compile(r"(oneapi/)?dnnl"): ("src/engines/cpu", "bench"),
    re.compile(r"xxhash\.h"): ("src/base",),
    re.compile(r"zstd\.h"): ("src/jit", "src/serial"),
    re.compile(r"CLI/"): ("tools", "bench"),
    re.compile(r"omp\.h"): ("src/engines/cpu", "bench", "tests"),
    re.compile(r"cuda|nvrtc|nv"): ("src/cuda", "include/fusednn/compat", "kernels", "tests/cuda"),
}
# Headers that cost every user of the public ones too much, or that drag in state.
NOT_IN_PUBLIC_HEADERS = {"iostream", "fstream", "sstream", "iomanip", "regex", "filesystem", "thread", "future",
                         "algorithm", "chrono", "random", "locale"}

SIZE_WARNING = 800
SIZE_LIMIT = 1200
# Tables of data, where length is not complexity.
SIZE_EXEMPT: set[str] = set()

# What may stand in one place only: pattern, where it is looked for, its home, its name.
PLACES = (
    (re.compile(r"\b(asm|__asm__|__asm)\b\s*(volatile\b|__volatile__\b|goto\b)?\s*\("), CODE_FOLDERS, "kernels/ptx",
     "inline assembly"),
    (re.compile(r"\b(secure_)?getenv\s*\("), ("src", "include", "kernels"), "src/base/env.cpp",
     "a look at the environment"),
    (re.compile(r"__builtin_(add|sub|mul)_overflow"), ("src", "kernels"), "src/base/checked.h", "checked arithmetic"),
)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def skipped(path, root):
    parts = path.relative_to(root).parts
    return parts[0].startswith("build") or any(part in (".git", ".venv", "__pycache__") for part in parts)


def files(root, folders, suffixes):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.suffix in suffixes and not skipped(path, root):
                yield path


def room_of(relative):
    """The room that a path below src/ lies in, or None."""
    parts = Path(relative).parts
    if len(parts) > 2 and parts[0] == "engines":
        return "/".join(parts[:2])
    return parts[0] if len(parts) > 1 else None


def check_room_include(root, source, target):
    relative = source.relative_to(root / "src")
    room = room_of(relative)
    if room not in LEVELS:
        return f"lies in no known room (src/{relative})"
    head = Path(target).parts[0]
    if head in HOST_KERNELS and not (root / "src" / target).exists():
        return None if LEVELS[room] >= HOST_KERNELS[head] else f'"{target}": {room} is too low to use kernels/{head}'
    if not (root / "src" / target).exists():
        return f'"{target}" is not a file below src/; write it from there, room first'
    other = room_of(target)
    if other not in LEVELS:
        return f'"{target}" lies in no known room'
    if other == room:
        # engines/cuda/<family>/<file>; files beside the families are shared by them.
        family, others = relative.parts[2:-1], Path(target).parts[2:-1]
        if room == "engines/cuda" and others and family != others:
            return f'"{target}": the families of CUDA engines do not include one another'
        return None
    if LEVELS[other] >= LEVELS[room]:
        return f'"{target}": {room} (level {LEVELS[room]}) may not include {other} (level {LEVELS[other]})'
    return None


def check_layers(root):
    """Includes point to lower rooms; clients and public headers see public headers only."""
    findings = []
    for path in files(root, CODE_FOLDERS, CODE):
        where = path.relative_to(root)
        top = where.parts[0]
        public_only = top in CLIENT_FOLDERS
        for quote, target in INCLUDE.findall(path.read_text()):
            finding = None
            if quote == "<":
                for library, homes in PRIVATE_LIBRARIES.items():
                    if library.match(target) and not any(where.is_relative_to(home) for home in homes):
                        finding = f"<{target}> belongs to {', '.join(homes)}"
                if top == "src" and LEVELS.get(room_of(where.relative_to("src")), 0) < PUBLIC_FLOOR.get(target, 0):
                    finding = f"<{target}>: this room is too low to see it"
                if top == "include" and not finding and "compat" not in where.parts:
                    if "/" in target and not target.startswith("fusednn/"):
                        finding = f"<{target}>: public headers stand on the standard library alone"
                    if target.endswith(".h") and "/" not in target or target in NOT_IN_PUBLIC_HEADERS:
                        finding = f"<{target}> costs every user of the public headers"
            elif top == "include":
                finding = f'"{target}": public headers include one another as <fusednn/...>'
            elif top == "kernels":
                if where.parts[1] in HOST_KERNELS and Path(target).parts[0] not in HOST_KERNELS:
                    finding = f'"{target}": the host compiles kernels/{where.parts[1]} too, so it stands on abi and math'
            elif top == "src":
                finding = check_room_include(root, path, target)
            elif public_only and not any((base / target).exists() for base in (path.parent, root / top)):
                finding = f'"{target}": only <fusednn/...> and files of {top}/ may be included here'
            if finding:
                findings.append(f"{where}: {finding}")
    return findings


def check_size(root):
    """Files stay short enough to be read."""
    findings = []
    for path in files(root, CODE_FOLDERS + ("cmake", "scripts"), CODE | SCRIPTS):
        where = str(path.relative_to(root))
        lines = len(path.read_text().splitlines())
        if where in SIZE_EXEMPT:
            continue
        if lines > SIZE_LIMIT:
            findings.append(f"{where}: {lines} lines; the limit is {SIZE_LIMIT}")
        elif lines > SIZE_WARNING:
            print(f"note: {where}: {lines} lines; above {SIZE_WARNING} there should be a reason")
    return findings


def check_places(root):
    """What has one home stands nowhere else."""
    findings = []
    for path in files(root, CODE_FOLDERS, CODE):
        where = path.relative_to(root)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for pattern, folders, home, what in PLACES:
                if pattern.search(line) and where.parts[0] in folders and not where.is_relative_to(home):
                    findings.append(f"{where}:{number}: {what} outside {home}")
    return findings


def check_text(root):
    """No machine's own paths, no addresses in what configures and builds, no work left as a remark."""
    machine_path = re.compile(r"(?<![\w.}/])/(work|root|home)/")
    address = re.compile(r"\b(https?|ftp|git)://")
    left_over = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X])\b")
    findings = []
    everywhere = CODE | SCRIPTS | {".md", ".txt", ".json", ".in", ""}
    for path in sorted(root.rglob("*")):
        where = path.relative_to(root)
        if skipped(path, root) or not path.is_file() or path.suffix not in everywhere or path.stat().st_size > 1 << 20:
            continue
        builds = where.parts[0] in ("scripts", "cmake", ".ci") or path.name in ("CMakeLists.txt", "CMakePresets.json")
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if machine_path.search(line):
                findings.append(f"{where}:{number}: an absolute path of one machine")
            if builds and address.search(line):
                findings.append(f"{where}:{number}: an address in a build file")
            if left_over.search(line):
                findings.append(f"{where}:{number}: work left as a remark")
    return findings


CHECKS = {"layers": check_layers, "size": check_size, "places": check_places, "text": check_text}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("check", choices=CHECKS)
    parser.add_argument("root", type=Path)
    arguments = parser.parse_args()
    findings = CHECKS[arguments.check](arguments.root.resolve())
    print("\n".join(findings) or f"{arguments.check}: clean")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
