// Every operator that Sconce runs: its name in a delegate blob, its plan function, and what is known without planning.
// A line an operator, sorted by name within each family.
#include <algorithm>

#include "ops/attention/attention.h"
#include "ops/contract.h"
#include "ops/elementwise/elementwise.h"
#include "ops/embedding/embedding.h"
#include "ops/linear/linear.h"
#include "ops/movement/movement.h"
#include "ops/norm/norm.h"
#include "ops/quantize/quantize.h"
#include "ops/reduce/reduce.h"
#include "ops/rope/rope.h"
#include "ops/sampling/sampling.h"
#include "ops/symint/symint.h"

namespace sconce::ops {
namespace {

constexpr Effects kReshape = {.alias_of = 0};
constexpr Effects kOnHost = {.on_host = true};

constexpr OperatorInfo kOperators[] = {
    // attention
    {"et_vk.sdpa.default", plan_sdpa, {}},
    {"sconce.rotary_attention", plan_rotary_attention, {.writes = {3, 4}}},
    {"sdpa_with_kv_cache.default", plan_sdpa_with_kv_cache, {.writes = {3, 4}}},
    {"update_cache.default", plan_update_cache, {.writes = {1, -1}}},

    // conversions and fills
    {"aten._to_copy.default", plan_to_copy, kReshape},
    {"aten.arange.default", plan_arange, {}},
    {"aten.arange.start_step", plan_arange_start_step, {}},
    {"aten.empty.memory_format", plan_constant_fill<0>, {}},
    {"aten.empty_like.default", plan_constant_fill_like<0>, {}},
    {"aten.full.default", plan_full, {}},
    {"aten.full_like.default", plan_full_like, {}},
    {"aten.ones.default", plan_constant_fill<1>, {}},
    {"aten.ones_like.default", plan_constant_fill_like<1>, {}},
    {"aten.scalar_tensor.default", plan_scalar_tensor, {}},
    {"aten.zeros.default", plan_constant_fill<0>, {}},
    {"aten.zeros_like.default", plan_constant_fill_like<0>, {}},
    {"dim_order_ops._clone_dim_order.default", plan_to_copy, kReshape},
    {"dim_order_ops._empty_dim_order.default", plan_constant_fill<0>, {}},
    {"dim_order_ops._to_dim_order_copy.default", plan_to_copy, kReshape},

    // elementwise, one operand
    {"aten.abs.default", plan_unary<Unary::abs>, {}},
    {"aten.acos.default", plan_unary<Unary::acos>, {}},
    {"aten.asin.default", plan_unary<Unary::asin>, {}},
    {"aten.atan.default", plan_unary<Unary::atan>, {}},
    {"aten.bitwise_not.default", plan_bitwise_not, {}},
    {"aten.ceil.default", plan_unary<Unary::ceil>, {}},
    {"aten.clamp.default", plan_clamp, {}},
    {"aten.cos.default", plan_unary<Unary::cos>, {}},
    {"aten.cosh.default", plan_unary<Unary::cosh>, {}},
    {"aten.elu.default", plan_elu, {}},
    {"aten.erf.default", plan_unary<Unary::erf>, {}},
    {"aten.exp.default", plan_unary<Unary::exp>, {}},
    {"aten.exp2.default", plan_unary<Unary::exp2>, {}},
    {"aten.expm1.default", plan_unary<Unary::expm1>, {}},
    {"aten.floor.default", plan_unary<Unary::floor>, {}},
    {"aten.gelu.default", plan_gelu, {}},
    {"aten.hardshrink.default", plan_hardshrink, {}},
    {"aten.hardsigmoid.default", plan_unary<Unary::hardsigmoid>, {}},
    {"aten.hardswish.default", plan_unary<Unary::hardswish>, {}},
    {"aten.hardtanh.default", plan_hardtanh, {}},
    {"aten.leaky_relu.default", plan_leaky_relu, {}},
    {"aten.log.default", plan_unary<Unary::log>, {}},
    {"aten.log10.default", plan_unary<Unary::log10>, {}},
    {"aten.log1p.default", plan_unary<Unary::log1p>, {}},
    {"aten.log2.default", plan_unary<Unary::log2>, {}},
    {"aten.logical_not.default", plan_logical_not, {}},
    {"aten.neg.default", plan_unary<Unary::neg>, {}},
    {"aten.pow.Tensor_Scalar", plan_pow_scalar, {}},
    {"aten.reciprocal.default", plan_unary<Unary::reciprocal>, {}},
    {"aten.relu.default", plan_unary<Unary::relu>, {}},
    {"aten.round.default", plan_unary<Unary::round>, {}},
    {"aten.rsqrt.default", plan_unary<Unary::rsqrt>, {}},
    {"aten.sigmoid.default", plan_unary<Unary::sigmoid>, {}},
    {"aten.sign.default", plan_unary<Unary::sign>, {}},
    {"aten.silu.default", plan_unary<Unary::silu>, {}},
    {"aten.sin.default", plan_unary<Unary::sin>, {}},
    {"aten.sinh.default", plan_unary<Unary::sinh>, {}},
    {"aten.sqrt.default", plan_unary<Unary::sqrt>, {}},
    {"aten.tan.default", plan_unary<Unary::tan>, {}},
    {"aten.tanh.default", plan_unary<Unary::tanh>, {}},
    {"aten.trunc.default", plan_unary<Unary::trunc>, {}},

    // elementwise, two operands
    {"aten.add.Scalar", plan_add, {}},
    {"aten.add.Tensor", plan_add, {}},
    {"aten.bitwise_and.Scalar", plan_bitwise<Logical::both, Binary::bit_and>, {}},
    {"aten.bitwise_and.Tensor", plan_bitwise<Logical::both, Binary::bit_and>, {}},
    {"aten.bitwise_or.Scalar", plan_bitwise<Logical::either, Binary::bit_or>, {}},
    {"aten.bitwise_or.Tensor", plan_bitwise<Logical::either, Binary::bit_or>, {}},
    {"aten.bitwise_xor.Scalar", plan_bitwise<Logical::differ, Binary::bit_xor>, {}},
    {"aten.bitwise_xor.Tensor", plan_bitwise<Logical::differ, Binary::bit_xor>, {}},
    {"aten.div.Scalar", plan_binary<Binary::div>, {}},
    {"aten.div.Scalar_mode", plan_div_mode, {}},
    {"aten.div.Tensor", plan_binary<Binary::div>, {}},
    {"aten.div.Tensor_mode", plan_div_mode, {}},
    {"aten.eq.Scalar", plan_compare<Compare::eq>, {}},
    {"aten.eq.Tensor", plan_compare<Compare::eq>, {}},
    {"aten.floor_divide.default", plan_floor_divide, {}},
    {"aten.ge.Scalar", plan_compare<Compare::ge>, {}},
    {"aten.ge.Tensor", plan_compare<Compare::ge>, {}},
    {"aten.gt.Scalar", plan_compare<Compare::gt>, {}},
    {"aten.gt.Tensor", plan_compare<Compare::gt>, {}},
    {"aten.le.Scalar", plan_compare<Compare::le>, {}},
    {"aten.le.Tensor", plan_compare<Compare::le>, {}},
    {"aten.logical_and.default", plan_logical<Logical::both>, {}},
    {"aten.logical_or.default", plan_logical<Logical::either>, {}},
    {"aten.logical_xor.default", plan_logical<Logical::differ>, {}},
    {"aten.lt.Scalar", plan_compare<Compare::lt>, {}},
    {"aten.lt.Tensor", plan_compare<Compare::lt>, {}},
    {"aten.maximum.default", plan_binary<Binary::maximum>, {}},
    {"aten.minimum.default", plan_binary<Binary::minimum>, {}},
    {"aten.mul.Scalar", plan_binary<Binary::mul>, {}},
    {"aten.mul.Tensor", plan_binary<Binary::mul>, {}},
    {"aten.ne.Scalar", plan_compare<Compare::ne>, {}},
    {"aten.ne.Tensor", plan_compare<Compare::ne>, {}},
    {"aten.pow.Scalar", plan_pow, {}},
    {"aten.pow.Tensor_Tensor", plan_pow, {}},
    {"aten.remainder.Scalar", plan_binary<Binary::remainder>, {}},
    {"aten.remainder.Tensor", plan_binary<Binary::remainder>, {}},
    {"aten.rsub.Scalar", plan_rsub, {}},
    {"aten.sub.Scalar", plan_sub, {}},
    {"aten.sub.Tensor", plan_sub, {}},
    {"aten.where.self", plan_where, {}},

    // embedding
    {"aten.embedding.default", plan_embedding, {}},
    {"et_vk.embedding_q4gsw.default", plan_q4_embedding, {}},

    // linear
    {"aten.addmm.default", plan_addmm, {}},
    {"aten.bmm.default", plan_bmm, {}},
    {"aten.linear.default", plan_linear, {}},
    {"aten.mm.default", plan_mm, {}},
    {"et_vk.linear_dq8ca_q4gsw.default", plan_linear_dq8ca_q4gsw, {}},
    {"et_vk.linear_q4gsw.default", plan_linear_q4gsw, {}},
    {"et_vk.linear_qcs4w.default", plan_linear_qcs4w, {}},
    {"sconce.q4_linear", plan_q4_linear, {}},

    // movement
    {"aten.alias_copy.default", plan_clone, kReshape},
    {"aten.cat.default", plan_cat, {}},
    {"aten.clone.default", plan_clone, kReshape},
    {"aten.constant_pad_nd.default", plan_constant_pad, {}},
    {"aten.copy_.default", plan_copy_in_place, {.writes = {0, -1}}},
    {"aten.expand_copy.default", plan_expand, {}},
    {"aten.flip.default", plan_flip, {}},
    {"aten.gather.default", plan_gather, {}},
    {"aten.grid_sampler_2d.default", plan_grid_sampler_2d, {}},
    {"aten.index.Tensor", plan_index, {}},
    {"aten.index_select.default", plan_index_select, {}},
    {"aten.permute.default", plan_permute, {}},
    {"aten.permute_copy.default", plan_permute, {}},
    {"aten.pixel_shuffle.default", plan_pixel_shuffle, {}},
    {"aten.repeat.default", plan_repeat, {}},
    {"aten.select_copy.int", plan_select, {}},
    {"aten.slice_copy.Tensor", plan_slice, {}},
    {"aten.split_copy.Tensor", plan_split, {}},
    {"aten.split_with_sizes_copy.default", plan_split_with_sizes, {}},
    {"aten.squeeze_copy.dim", plan_squeeze, kReshape},
    {"aten.squeeze_copy.dims", plan_squeeze, kReshape},
    {"aten.t_copy.default", plan_t, {}},
    {"aten.transpose_copy.int", plan_transpose, {}},
    {"aten.unbind_copy.int", plan_unbind, {}},
    {"aten.unfold_copy.default", plan_unfold, {}},
    {"aten.unsqueeze_copy.default", plan_unsqueeze, kReshape},
    {"aten.upsample_bilinear2d.vec", plan_upsample_bilinear2d, {}},
    {"aten.upsample_nearest2d.vec", plan_upsample_nearest2d, {}},
    {"aten.view_copy.default", plan_view, kReshape},
    {"et_vk.grid_priors.default", plan_grid_priors, {}},

    // norm
    {"aten._native_batch_norm_legit_no_training.default", plan_batch_norm, {}},
    {"aten.native_group_norm.default", plan_group_norm, {}},
    {"aten.native_layer_norm.default", plan_layer_norm, {}},
    {"et_vk.rms_norm.default", plan_rms_norm, {}},

    // quantize
    {"sconce.round_rows", plan_round_rows, {}},
    {"torchao.choose_qparams_affine.default", plan_choose_qparams_affine, {}},

    // reduce
    {"aten._log_softmax.default", plan_log_softmax, {}},
    {"aten._softmax.default", plan_softmax, {}},
    {"aten.all.default", plan_reduce_all<Reduce::prod>, {}},
    {"aten.all.dim", plan_reduce<Reduce::prod>, {}},
    {"aten.all.dims", plan_reduce<Reduce::prod>, {}},
    {"aten.amax.default", plan_reduce<Reduce::amax>, {}},
    {"aten.amin.default", plan_reduce<Reduce::amin>, {}},
    {"aten.any.default", plan_reduce_all<Reduce::sum>, {}},
    {"aten.any.dim", plan_reduce<Reduce::sum>, {}},
    {"aten.any.dims", plan_reduce<Reduce::sum>, {}},
    {"aten.argmax.default", plan_arg_reduce<ArgReduce::argmax>, {}},
    {"aten.argmin.default", plan_arg_reduce<ArgReduce::argmin>, {}},
    {"aten.max.default", plan_reduce_all<Reduce::amax>, {}},
    {"aten.mean.default", plan_reduce_all<Reduce::mean>, {}},
    {"aten.mean.dim", plan_reduce<Reduce::mean>, {}},
    {"aten.min.default", plan_reduce_all<Reduce::amin>, {}},
    {"aten.prod.default", plan_reduce_all<Reduce::prod>, {}},
    {"aten.prod.dim_int", plan_reduce<Reduce::prod>, {}},
    {"aten.sum.default", plan_reduce_all<Reduce::sum>, {}},
    {"aten.sum.dim_IntList", plan_reduce<Reduce::sum>, {}},

    // rope
    {"et_vk.apply_rotary_emb.default", plan_apply_rotary_emb, {}},
    {"et_vk.apply_rotary_emb_hf.default", plan_apply_rotary_emb_hf, {}},
    {"et_vk.apply_rotary_emb_interleaved.default", plan_apply_rotary_emb_interleaved, {}},

    // sampling: appended to a language model's graph by runtime/generation_method.h
    {"sconce.sample", plan_sample, {.writes = {2, -1}}},

    // SymInts
    {"add", plan_symint<SymIntOp::add>, kOnHost},
    {"aten._local_scalar_dense.default", plan_local_scalar_dense, kOnHost},
    {"eq", plan_symint<SymIntOp::eq>, kOnHost},
    {"et_vk.select_as_symint.default", plan_select_as_symint, kOnHost},
    {"floordiv", plan_symint<SymIntOp::floordiv>, kOnHost},
    {"ge", plan_symint<SymIntOp::ge>, kOnHost},
    {"gt", plan_symint<SymIntOp::gt>, kOnHost},
    {"le", plan_symint<SymIntOp::le>, kOnHost},
    {"lt", plan_symint<SymIntOp::lt>, kOnHost},
    {"mod", plan_symint<SymIntOp::mod>, kOnHost},
    {"mul", plan_symint<SymIntOp::mul>, kOnHost},
    {"ne", plan_symint<SymIntOp::ne>, kOnHost},
    {"neg", plan_symint_neg, kOnHost},
    {"sub", plan_symint<SymIntOp::sub>, kOnHost},
    {"sym_max", plan_symint<SymIntOp::max>, kOnHost},
    {"sym_min", plan_symint<SymIntOp::min>, kOnHost},
    {"sym_size.int", plan_sym_size, kOnHost},
};

}  // namespace

std::span<const OperatorInfo> catalog() {
  static const std::vector<OperatorInfo> sorted = [] {
    std::vector<OperatorInfo> all(std::begin(kOperators), std::end(kOperators));
    std::ranges::sort(all, {}, &OperatorInfo::name);
    return all;
  }();
  return sorted;
}

const OperatorInfo* find_operator(std::string_view name) {
  std::span<const OperatorInfo> all = catalog();
  auto found = std::ranges::lower_bound(all, name, {}, &OperatorInfo::name);
  return found != all.end() && found->name == name ? &*found : nullptr;
}

}  // namespace sconce::ops
