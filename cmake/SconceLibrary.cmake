# sconce_library(<folder> SOURCES <files> USES <folders or libraries>): one static library a folder of src/.
#
# The core compiles without exceptions and RTTI, because it also becomes a WebAssembly module. Includes are written from
# src/ ("graph/graph.h"), from include/ ("sconce/result.h") and from the build folder for generated headers.
set(SCONCE_WARNINGS -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND SCONCE_WARNINGS -Wno-maybe-uninitialized)  # GCC 12 warns of every move of a std::variant
endif()

if(CMAKE_SYSTEM_NAME STREQUAL "WASI")
  add_library(sconce_fmt INTERFACE)
  target_compile_definitions(sconce_fmt INTERFACE FMT_HEADER_ONLY FMT_EXCEPTIONS=0)
  target_include_directories(sconce_fmt SYSTEM INTERFACE ${SCONCE_WASM_HEADERS})
else()
  find_package(fmt REQUIRED)
  add_library(sconce_fmt INTERFACE)
  target_link_libraries(sconce_fmt INTERFACE fmt::fmt)
endif()

function(sconce_library folder)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "SOURCES;USES" ${ARGN})
  add_library(sconce_${folder} STATIC ${ARG_SOURCES})
  target_include_directories(sconce_${folder} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
  target_compile_options(sconce_${folder} PRIVATE ${SCONCE_WARNINGS})
  if(NOT ARG_EXCEPTIONS)
    target_compile_options(sconce_${folder} PRIVATE -fno-exceptions -fno-rtti)
  endif()
  target_link_libraries(sconce_${folder} PUBLIC sconce_fmt ${ARG_USES})
endfunction()
