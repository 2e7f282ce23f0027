#!/bin/bash
# Lies in the folder that gpu_bundle.sh makes, as test.sh, and runs its tests on the GPU of the machine. Takes less than
# eight minutes on 16 cores. Writes gpu_test.json, every program's output (gpu_test_logs.tar.gz) and the failures
# (gpu_failures.txt) to the folder OUT, which is the current one where it is not set. Ends with a table, and fails where
# a test failed, a program ended early, or nothing but skips came of one.
set -euo pipefail
bundle=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-.}
mkdir -p "$out"
exec python3 "$bundle/gpu_test.py" --bundle "$bundle" --out "$(cd "$out" && pwd)" "$@"
