"""Lint of the shared library: what it exports is the public API and nothing else."""

import re
import subprocess
import sys

PUBLIC = re.compile(r"(typeinfo for |typeinfo name for |vtable for )?fusednn::v\d+::")


def findings(lines):
    """Of the lines that `nm -D --defined-only --demangle` prints: what should not be there."""
    symbols = [line.split(maxsplit=2)[2] for line in lines if len(line.split(maxsplit=2)) == 3]
    if not symbols:
        return ["nothing is exported"]
    return [f"exported, but not public: {symbol}" for symbol in symbols if not PUBLIC.match(symbol)]


def main():
    library = sys.argv[1]
    listing = subprocess.run(["nm", "--dynamic", "--defined-only", "--demangle", library],
                             check=True, capture_output=True, text=True).stdout
    found = findings(listing.splitlines())
    print("\n".join(found) or f"{len(listing.splitlines())} exported symbols, all public")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
