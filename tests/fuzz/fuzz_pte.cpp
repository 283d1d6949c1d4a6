// Fuzz target: any bytes as a .pte file. They give an error or a program, whose methods give an error or a graph.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "graph/build.h"
#include "support/memory_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sconce;
  test::MemorySource source(test::bytes_of(data, size));
  auto program = program::read_program(source);
  if (!program) return 0;
  program::metadata(*program);
  for (const program::Method& method : program->methods) (void)graph::build_graph(*program, method.name);
  return 0;
}
