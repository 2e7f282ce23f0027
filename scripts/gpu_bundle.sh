#!/bin/bash
# Builds what runs on a machine with a GPU and collects it, with its libraries and with kernels that are compiled
# already, in the folder build/gpu and in one file, build/gpu.tar.gz. On that machine, which needs a driver, NVRTC and
# Python, `tar xzf gpu.tar.gz && gpu/test.sh` runs all of it. FUSEDNN_GPU_ARCH is the architecture that kernels are
# compiled for, sm_90a where it is not set. --no-kernels leaves them to be compiled there.
set -euo pipefail
cd "$(dirname "$0")/.."

arch=${FUSEDNN_GPU_ARCH:-sm_90a}
build=build/release
bundle=build/gpu
limit_megabytes=64
tests=(api/test_api_execute cases/test_cases cases/test_cases_concurrency random/test_random gpu/test_gpu)

[ -f "$build/build.ninja" ] || cmake --preset release
targets=()
for test in "${tests[@]}"; do targets+=("$(basename "$test")"); done
cmake --build --preset release --target "${targets[@]}" fusednn_tool

mkdir -p "$bundle/cache"
rm -rf "$bundle/bin" "$bundle/lib" "$bundle/graphs"
mkdir "$bundle/bin" "$bundle/lib" "$bundle/graphs"
programs=("${tests[@]/#/$build/tests/}" "$build/bin/fusednn")
for program in "${programs[@]}"; do strip -o "$bundle/bin/$(basename "$program")" "$program"; done
# Everything but what comes with every Linux, under the names by which it is loaded.
ldd "${programs[@]}" | awk '/=> \//{print $1, $3}' | sort -u |
  grep -vE '^(libc|libm|libdl|libpthread|librt|libgcc_s)\.so' | while read -r name path; do
    strip --strip-unneeded -o "$bundle/lib/$name" "$path"
  done
cp examples/graphs/*.json "$bundle/graphs"
cp scripts/gpu_test.sh "$bundle/test.sh"
cp scripts/gpu_test.py "$bundle"

# Plans for an architecture alone have the kernels of plans for a GPU of it, so that running the same tests without a
# GPU fills the cache. What fails here fails on the GPU too, where it is reported.
export FUSEDNN_CACHE_DIR=$PWD/$bundle/cache FUSEDNN_TEST_DEVICE=$arch
for test in test_cases test_api_execute test_cases_concurrency; do
  [ "${1:-}" != --no-kernels ] || break
  "$build/tests/"*/"$test" >"$bundle/$test.log" 2>&1 || echo "$test without a GPU: some tests fail"
  rm "$bundle/$test.log"
done

commit=$(git describe --always --dirty 2>/dev/null || echo unknown)
echo "$commit" >"$bundle/commit"
tar -C build -czf build/gpu.tar.gz gpu
size=$(du -m build/gpu.tar.gz | cut -f1)
echo "build/gpu.tar.gz: $size MB, $(find "$bundle/cache" -name '*.kernel' | wc -l) kernels for $arch, commit $commit"
[ "$size" -lt "$limit_megabytes" ] || { echo "larger than $limit_megabytes MB" >&2; exit 1; }
