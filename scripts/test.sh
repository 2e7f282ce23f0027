#!/bin/bash
# Does all set-up, then builds and runs every test: optimised, under the address and undefined-behaviour
# sanitizers, and the concurrency tests under the thread sanitizer; fuzzes readers of foreign text for a minute. Fails
# where a test fails or none ran. Arguments name the presets to run, in place of all four.
set -euo pipefail
cd "$(dirname "$0")/.."

presets=("$@")
[ ${#presets[@]} -gt 0 ] || presets=(tsan fuzz asan release)

scripts/setup.sh
scripts/fetch_model.sh || echo "no model: its tests are skipped"

failed=()
for preset in "${presets[@]}"; do
  echo "== $preset"
  cmake --preset "$preset" >"build-$preset.log" 2>&1 || { cat "build-$preset.log"; exit 1; }
  rm "build-$preset.log"
  cmake --build --preset "$preset"
  ctest --preset "$preset" || failed+=("$preset")
done

if [ ${#failed[@]} -gt 0 ]; then
  echo "failed: ${failed[*]}"
  exit 1
fi
