"""Objects compiled for one CPU level define no symbol that the linker could merge with another level's."""

import subprocess
import sys

findings = []
for path in sys.argv[1:]:
    listing = subprocess.run(["nm", "--demangle", "--defined-only", path], capture_output=True, text=True, check=True)
    for line in listing.stdout.splitlines():
        _, kind, name = line.split(None, 2)
        # W, V and u are merged by name across objects.
        if kind in "WVu" and "::isa_" not in name:
            findings.append(f"{path}: {name}")
if not sys.argv[1:]:
    findings.append("no object given")
print("\n".join(findings) or f"{len(sys.argv) - 1} objects: clean")
sys.exit(1 if findings else 0)
