# clang-16 with Debian's wasi-libc and libc++ (packages clang-16 lld-16 libc++-16-dev-wasm32 wasi-libc
# libclang-rt-16-dev-wasm32). See docs/building.md.
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_CXX_COMPILER clang++-16)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_AR llvm-ar-16)
set(CMAKE_RANLIB llvm-ranlib-16)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(SCONCE_WASM_HEADERS ${CMAKE_BINARY_DIR}/headers)  # goes before libc++'s
set(CMAKE_CXX_FLAGS_INIT "-fno-exceptions -fno-rtti -nostdinc++ -isystem ${SCONCE_WASM_HEADERS} -isystem /usr/lib/llvm-16/include/wasm32-wasi/c++/v1")

# Header-only libraries come from the system include folder, which must not be on the path as a whole: link the two that
# the core uses into a folder of our own.
file(MAKE_DIRECTORY ${SCONCE_WASM_HEADERS})
foreach(library fmt flatbuffers)
  file(CREATE_LINK /usr/include/${library} ${SCONCE_WASM_HEADERS}/${library} SYMBOLIC)
endforeach()

# libc++ 16 marks the value of a std::expected [[no_unique_address]], so its has-value flag may lie in the value's tail
# padding, where constructing the value overwrites it. Reported as https://github.com/llvm/llvm-project/issues/68552,
# mended in libc++ 18 by pull requests 68733 and 69673 (issue 70494). Until the toolchain is that new, the core is
# compiled with this header less the attribute: each Result is then a few bytes larger, and right.
file(READ /usr/lib/llvm-16/include/wasm32-wasi/c++/v1/__expected/expected.h SCONCE_EXPECTED)
string(REPLACE "_LIBCPP_NO_UNIQUE_ADDRESS" "" SCONCE_EXPECTED "${SCONCE_EXPECTED}")
file(CONFIGURE OUTPUT ${SCONCE_WASM_HEADERS}/__expected/expected.h CONTENT "${SCONCE_EXPECTED}" @ONLY)
