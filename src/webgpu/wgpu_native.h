// wgpu-native (gfx-rs/wgpu-native) as a second implementation. It ends the process in the functions of webgpu.h that it
// lacks, so those that Sconce calls are made of the ones that it has.
#pragma once

#include "webgpu/api.h"

namespace sconce::webgpu {

// Whether `lookup` finds functions of wgpu-native: one of its own is among them.
bool is_wgpu_native(const FunctionLookup& lookup);

// The table of wgpu-native's functions, complete. Differences that remain:
//   * waiting polls the devices; a callback may come before its future is waited for, never after;
//   * pipelines are compiled by the caller's thread, one after the other;
//   * subgroups are not offered: naga, its WGSL compiler, does not read `enable subgroups` (wgpu-native 29).
// An error names what the library lacks.
Result<Api> wgpu_native_api(const FunctionLookup& lookup);

}  // namespace sconce::webgpu
