"""Applies the recipes of CONTRIBUTING.md to a copy of the sources, builds it, and runs a program that uses what they
added. A block "```diff FILE" replaces the lines it shows without sign or with "-" by those without sign or with "+";
they must occur exactly once, however they are spaced. Any other block with a file name is that file."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def spaced_alike(lines):
    return [" ".join(line.split()) for line in lines]


def edit(text, diff):
    """`text` with one diff block applied."""
    changes = [(line[:1], line[1:]) for line in diff.splitlines()]
    old = spaced_alike(line for sign, line in changes if sign in (" ", "-"))
    lines = text.splitlines()
    alike = spaced_alike(lines)
    places = [i for i in range(len(lines) - len(old) + 1) if alike[i:i + len(old)] == old]
    if not old or len(places) != 1:
        raise ValueError(f"the lines to change occur {len(places)} times, not once:\n{diff}")
    new, at = [], places[0]
    for sign, line in changes:
        if sign == "+":
            new.append(line)
            continue
        if sign == " ":
            new.append(lines[at])
        at += 1
    return "\n".join(lines[:places[0]] + new + lines[places[0] + len(old):]) + "\n"


def apply(page, root):
    """Applies every block of the page below `root`; returns the files changed."""
    blocks = BLOCK.findall(page)
    for language, name, content in blocks:
        path = root / name
        if language == "diff":
            path.write_text(edit(path.read_text(), content))
        elif path.exists():
            raise ValueError(f"{name} exists already")
        else:
            path.write_text(content)
    return sorted({name for _, name, _ in blocks})


def copy_sources(source, scratch):
    """Renews the copy; what did not change keeps its time stamp, so that a second run builds less."""
    shutil.rmtree(scratch, ignore_errors=True)
    for folder in ("cmake", "include", "kernels", "src"):
        shutil.copytree(source / folder, scratch / folder)
    shutil.copy2(source / "CMakeLists.txt", scratch)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("scratch", type=Path)
    parser.add_argument("compiler")
    arguments = parser.parse_args()
    source, scratch, build = arguments.source, arguments.scratch / "sources", arguments.scratch / "build"

    copy_sources(source, scratch)
    changed = apply((source / "CONTRIBUTING.md").read_text(), scratch)
    print(f"changed: {', '.join(changed)}", flush=True)
    parts = [f"-DFUSEDNN_{part}=OFF" for part in ("TESTS", "TOOLS", "EXAMPLES", "BENCH")]
    environment = {**os.environ, "CCACHE_BASEDIR": str(arguments.scratch), "CCACHE_NOHASHDIR": "1"}

    def run(*command):
        subprocess.run([str(part) for part in command], check=True, env=environment)

    run("cmake", "-S", scratch, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={arguments.compiler}",
        "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DFUSEDNN_WERROR=ON", *parts)
    run("cmake", "--build", build, "--target", "fusednn")
    program = build / "use"
    run(arguments.compiler, "-std=c++17", f"-I{scratch}/include", Path(__file__).with_name("use.cpp"), "-o", program,
        f"-L{build}", "-lfusednn", f"-Wl,-rpath,{build}")
    run(program)


if __name__ == "__main__":
    try:
        main()
    except (ValueError, subprocess.CalledProcessError) as error:
        sys.exit(f"recipes: {error}")
