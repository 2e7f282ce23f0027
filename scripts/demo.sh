#!/bin/bash
# Does all set-up, builds fuseDNN, embeds sentences with a real model in float32 and bfloat16, and runs the example
# graphs and programs, each compared with the reference.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
scripts/fetch_model.sh
cmake --preset release -DFUSEDNN_TESTS=OFF -DFUSEDNN_BENCH=OFF -B build/demo
cmake --build build/demo

for dtype in float32 bfloat16; do
  build/demo/examples/bin/sentence_embedding --dtype "$dtype"
done
for program in matmul_bias_gelu matmul_fp8_amax sdpa_causal layernorm; do
  echo "== $program"
  "build/demo/examples/bin/$program"
  build/demo/bin/fusednn run "examples/graphs/$program.json" --check
done
