// The names and argument orders of ExecuTorch's kernel calls, in terms of the delegate's operators.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace sconce::graph {

// One argument of an operator: a value of the method, or nothing (a Null).
using KernelArg = std::optional<program::EValueId>;

struct OperatorCall {
  std::string op;               // "aten.add.Tensor"
  std::vector<KernelArg> args;  // in the operator's schema order, without the output
  program::EValueId output = 0;
};

// Translates a kernel call with at least one argument. A kernel call holds its schema's arguments, `out` among them,
// and then its result: the same out tensor again, or a list of them.
OperatorCall to_operator_call(const program::KernelCall& call, const program::Method& method);

// The arguments that an operator writes in place and that keep their contents between runs (KV caches).
struct WrittenArgs {
  std::string_view op;
  std::vector<size_t> args;
};
const std::vector<WrittenArgs>& written_args();

}  // namespace sconce::graph
