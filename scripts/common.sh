# Sourced by the other scripts: enters the tree, reads the preset, installs what Debian has.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${1:-release}

packages=(
  cmake ninja-build ccache g++ python3 python3-pip
  llvm-19-dev libmlir-19-dev mlir-19-tools llvm-19-tools clang-19 lld-19
  libprotobuf-dev protobuf-compiler libcli11-dev nlohmann-json3-dev libgtest-dev libbenchmark-dev
)

# Installs the packages that are missing, through sudo unless root.
install_packages() {
  local package missing=() as_root=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
      missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  ((EUID == 0)) || as_root=(sudo)
  echo "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}"
}
