#!/bin/sh
# The package and the chat page, from their sources and the core: build/wasm must be built (cmake --build --preset wasm).
set -eu
cd "$(dirname "$0")"
cp ../build/wasm/generated/layout.ts src/layout.ts
node_modules/.bin/tsc
cp ../build/wasm/sconce.wasm dist/sconce.wasm
node_modules/.bin/tsc -p page
node_modules/.bin/vite build page
