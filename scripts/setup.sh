#!/bin/bash
# Installs the system packages that building and testing need, on Debian 12 or a relative of it. Does nothing
# where all of them are present.
set -euo pipefail

packages=(
  # tools
  binutils ccache clang cmake g++ libclang-rt-dev llvm ninja-build pkg-config python3 python3-venv
  # libraries
  libbenchmark-dev libcli11-dev libdnnl-dev libfmt-dev libgmock-dev libgtest-dev libomp-dev libxxhash-dev
  nlohmann-json3-dev
)

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: every package is present"
  exit 0
fi

echo "setup: installing ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup: run as root, or install: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
