#include "graph/kernel_calls.h"

#include <fmt/format.h>

#include <algorithm>

namespace sconce::graph {
namespace {

using program::EValueId;
using program::KernelCall;
using program::Method;

// ExecuTorch replaces an operator by its variant with an out tensor. Mostly the variant's name and arguments follow
// from the operator's: aten.eq.Scalar -> aten::eq.Scalar_out, aten.relu.default -> aten::relu.out. The rest stands
// here.
//
// `order` lists the operator's arguments: a digit is an argument of the kernel call, '-' is one that the out variant
// lacks (dtype, layout, device, pin_memory: the out tensor tells them). Empty: the same arguments.
struct OutVariant {
  std::string_view kernel;
  std::string_view op;
  std::string_view order;
};
constexpr OutVariant kOutVariants[] = {
    {"aten::_to_copy.out", "aten._to_copy.default", "0----12"},
    {"aten::add.out", "aten.add.Tensor", ""},
    {"aten::all.all_out", "aten.all.default", ""},
    {"aten::all.out", "aten.all.dim", ""},
    {"aten::any.all_out", "aten.any.default", ""},
    {"aten::any.out", "aten.any.dim", ""},
    {"aten::arange.out", "aten.arange.default", "0----"},
    {"aten::arange.start_out", "aten.arange.start_step", "012----"},
    {"aten::div.out", "aten.div.Tensor", ""},
    {"aten::div.out_mode", "aten.div.Tensor_mode", ""},
    {"aten::empty.out", "aten.empty.memory_format", "0----1"},
    {"aten::empty_like.out", "aten.empty_like.default", "0----1"},
    {"aten::full.out", "aten.full.default", "01----"},
    {"aten::full_like.out", "aten.full_like.default", "01----2"},
    {"aten::max.dim_max", "aten.max.dim", ""},
    {"aten::max.out", "aten.max.other", ""},
    {"aten::max.unary_out", "aten.max.default", ""},
    {"aten::mean.dtype_out", "aten.mean.default", ""},
    {"aten::mean.out", "aten.mean.dim", ""},
    {"aten::min.dim_min", "aten.min.dim", ""},
    {"aten::min.out", "aten.min.other", ""},
    {"aten::min.unary_out", "aten.min.default", ""},
    {"aten::mul.out", "aten.mul.Tensor", ""},
    {"aten::ones.out", "aten.ones.default", "0----"},
    {"aten::ones_like.out", "aten.ones_like.default", "0----1"},
    {"aten::prod.int_out", "aten.prod.dim_int", ""},
    {"aten::scalar_tensor.out", "aten.scalar_tensor.default", "0----"},
    {"aten::sort.values", "aten.sort.default", ""},
    {"aten::sort.values_stable", "aten.sort.stable", ""},
    {"aten::std.out", "aten.std.dim", ""},
    {"aten::sub.out", "aten.sub.Tensor", ""},
    {"aten::sum.IntList_out", "aten.sum.dim_IntList", ""},
    {"aten::topk.values", "aten.topk.default", ""},
    {"aten::var.out", "aten.var.dim", ""},
    {"aten::zeros.out", "aten.zeros.default", "0----"},
    {"aten::zeros_like.out", "aten.zeros_like.default", "0----1"},
    {"dim_order_ops::_empty_dim_order.out", "dim_order_ops._empty_dim_order.default", "0----1"},
    {"dim_order_ops::_to_dim_order_copy.out", "dim_order_ops._to_dim_order_copy.default", "0----12"},
    {"executorch_prim::et_view.default", "aten.view_copy.default", ""},
};
static_assert(std::ranges::is_sorted(kOutVariants, {}, &OutVariant::kernel));

// "aten::add.out"; an empty overload is called "default".
std::string kernel_name(const KernelCall& call) {
  return call.name + "." + (call.overload.empty() ? "default" : call.overload);
}

// The name that follows from a kernel's name by rule.
std::string derived_name(const KernelCall& call) {
  std::string_view name = call.name, overload = call.overload;
  size_t colons = name.find("::");
  std::string_view space = colons == name.npos ? std::string_view() : name.substr(0, colons);
  std::string_view base = colons == name.npos ? name : name.substr(colons + 2);

  // Operators on SymInts are Python's in a delegate: executorch_prim::add.Scalar -> add, aten::sym_size.int ->
  // sym_size.int.
  if (space == "executorch_prim" && overload == "Scalar") return std::string(base);
  bool bare = base.starts_with("sym_") || space == "llama" || space.empty();

  if (overload == "out" || overload.empty()) overload = "default";
  if (overload.ends_with("_out")) overload.remove_suffix(4);
  return bare ? fmt::format("{}.{}", base, overload) : fmt::format("{}.{}.{}", space, base, overload);
}

// Removes the out tensors from [..., out, result] and [..., out1, out2, list of results]; the last argument stays.
// In-place operators (add_) have no out tensor: their result is their first argument again.
void drop_out_tensors(std::vector<EValueId>& args, const KernelCall& call, const Method& method) {
  if (call.name.ends_with('_')) return;
  EValueId result = args.back();
  auto before = args.end() - 1;
  const auto* list = std::get_if<program::TensorList>(&method.values[result]);
  if (!list) {
    if (args.size() > 1 && *(before - 1) == result) args.erase(before - 1);
    return;
  }
  auto same_items = [&](EValueId id) {
    const auto* other = std::get_if<program::TensorList>(&method.values[id]);
    return other && other->items == list->items;
  };
  if (args.size() > 1 && same_items(*(before - 1))) {
    args.erase(before - 1);
    return;
  }
  auto outs = static_cast<ptrdiff_t>(list->items.size());
  if (outs < static_cast<ptrdiff_t>(args.size()) &&
      std::equal(list->items.begin(), list->items.end(), before - outs,
                 [](int32_t item, EValueId id) { return item >= 0 && static_cast<EValueId>(item) == id; }))
    args.erase(before - outs, before);
}

}  // namespace

OperatorCall to_operator_call(const KernelCall& call, const Method& method) {
  std::vector<EValueId> args = call.args;
  drop_out_tensors(args, call, method);
  OperatorCall result{.output = args.back()};
  args.pop_back();

  std::string kernel = kernel_name(call);
  const auto* variant = std::ranges::lower_bound(kOutVariants, std::string_view(kernel), {}, &OutVariant::kernel);
  bool listed = variant != std::end(kOutVariants) && variant->kernel == kernel;
  result.op = listed ? std::string(variant->op) : derived_name(call);
  if (!listed || variant->order.empty()) {
    result.args.assign(args.begin(), args.end());
    return result;
  }
  for (char c : variant->order) {
    size_t index = static_cast<size_t>(c - '0');
    result.args.push_back(c != '-' && index < args.size() ? KernelArg(args[index]) : std::nullopt);
  }
  return result;
}

const std::vector<WrittenArgs>& written_args() {
  static const std::vector<WrittenArgs> kWrittenArgs = {
      {"aten.copy_.default", {0}},
      {"sdpa_with_kv_cache.default", {3, 4}},
      {"update_cache.default", {1}},
  };
  return kWrittenArgs;
}

}  // namespace sconce::graph
