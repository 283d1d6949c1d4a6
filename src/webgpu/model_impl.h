// What a Model owns: the state machine, the GPU's side of its constants, and where their bytes come from.
#pragma once

#include <memory>
#include <vector>

#include "program/reader.h"
#include "runtime/model.h"
#include "sconce/model.h"
#include "webgpu/mapped_file.h"
#include "webgpu/replayer.h"

namespace sconce {

struct Model::Impl {
  Impl(std::shared_ptr<webgpu::Gpu> device, std::unique_ptr<runtime::Model> machine, const LoadOptions& load_options)
      : gpu(device), model(std::move(machine)), replayer(std::move(device)), warm_up(load_options.warm_up) {}

  std::shared_ptr<webgpu::Gpu> gpu;
  std::unique_ptr<runtime::Model> model;
  webgpu::Replayer replayer;
  std::vector<std::unique_ptr<program::ByteSource>> sources;
  std::vector<MethodInfo> methods;
  bool warm_up = true;  // sessions dispatch each pipeline once before their first run
};

}  // namespace sconce
