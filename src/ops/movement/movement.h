// Operators that move elements without computing on them.
#pragma once

#include "ops/contract.h"

namespace sconce::ops {

// ---- the same bytes under another shape (reshape.cpp) ----
// The shape of `count` elements with the sizes in argument i, of which one may be -1.
Result<Shape> view_shape(const Call& call, size_t i, uint64_t count);
Result<void> plan_view(const Call& call, NodePlan& plan);
Result<void> plan_clone(const Call& call, NodePlan& plan);
Result<void> plan_copy_in_place(const Call& call, NodePlan& plan);
Result<void> plan_squeeze(const Call& call, NodePlan& plan);
Result<void> plan_unsqueeze(const Call& call, NodePlan& plan);

// ---- a part of a tensor (slice.cpp) ----
Result<void> plan_slice(const Call& call, NodePlan& plan);
Result<void> plan_select(const Call& call, NodePlan& plan);
Result<void> plan_split(const Call& call, NodePlan& plan);
Result<void> plan_split_with_sizes(const Call& call, NodePlan& plan);
Result<void> plan_unbind(const Call& call, NodePlan& plan);
Result<void> plan_unfold(const Call& call, NodePlan& plan);

// ---- several parts into one tensor (join.cpp) ----
Result<void> plan_cat(const Call& call, NodePlan& plan);
Result<void> plan_constant_pad(const Call& call, NodePlan& plan);

// ---- other orders and repetitions (reorder.cpp) ----
Result<void> plan_permute(const Call& call, NodePlan& plan);
Result<void> plan_transpose(const Call& call, NodePlan& plan);
Result<void> plan_t(const Call& call, NodePlan& plan);
Result<void> plan_expand(const Call& call, NodePlan& plan);
Result<void> plan_repeat(const Call& call, NodePlan& plan);
Result<void> plan_flip(const Call& call, NodePlan& plan);
Result<void> plan_pixel_shuffle(const Call& call, NodePlan& plan);

// ---- places given by tensors (indexed_copy.cpp) ----
Result<void> plan_gather(const Call& call, NodePlan& plan);
Result<void> plan_index_select(const Call& call, NodePlan& plan);
Result<void> plan_index(const Call& call, NodePlan& plan);

// ---- images (resample.cpp) ----
Result<void> plan_upsample_nearest2d(const Call& call, NodePlan& plan);
Result<void> plan_upsample_bilinear2d(const Call& call, NodePlan& plan);
Result<void> plan_grid_sampler_2d(const Call& call, NodePlan& plan);
Result<void> plan_grid_priors(const Call& call, NodePlan& plan);

}  // namespace sconce::ops
