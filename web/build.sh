#!/bin/sh
# The package from its sources and the core: build/wasm must be built (cmake --build --preset wasm).
set -eu
cd "$(dirname "$0")"
core=${SCONCE_WASM_BUILD:-../build/wasm}
cp "$core/generated/layout.ts" src/layout.ts
node_modules/.bin/tsc
cp "$core/sconce.wasm" dist/sconce.wasm
