// Finding a library and an adapter, opening devices, and the messages when there are none.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "gpu_steps.h"
#include "sconce/device.h"
#include "webgpu/adapters.h"
#include "webgpu/capabilities.h"
#include "webgpu/scoped_variable.h"

namespace sconce::webgpu {
namespace {

using ::testing::HasSubstr;

// ---- the library ----

TEST(Library, AHostsFunctionsAreUsedAndMissingOnesNamed) {
  auto library = load_library([](std::string_view) -> void* { return nullptr; });
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::not_found);
  EXPECT_THAT(library.error().message, HasSubstr("The WebGPU functions that the host passes in cannot be used"));
  EXPECT_THAT(library.error().message, HasSubstr("wgpuCreateInstance, wgpuInstanceRequestAdapter"));

  auto found = load_library({});
  ASSERT_TRUE(found) << found.error().to_string();
  DeviceOptions options;
  options.webgpu_function = [&](std::string_view name) -> void* {
    return name == "wgpuCreateInstance" ? reinterpret_cast<void*>(found->api.CreateInstance) : nullptr;
  };
  auto device = Device::open(options);
  ASSERT_FALSE(device);
  EXPECT_THAT(device.error().message, HasSubstr("wgpuInstanceRequestAdapter"));
  EXPECT_THAT(device.error().message, Not(HasSubstr("wgpuCreateInstance")));
}

TEST(Library, TheVariableMustNameALibraryOfWebGpu) {
  for (const char* path : {"/nonexistent/libwebgpu_dawn.so", "libc.so.6"}) {
    ScopedVariable variable("SCONCE_WEBGPU_LIBRARY", path);
    auto library = load_library({});
    ASSERT_FALSE(library) << path;
    EXPECT_THAT(library.error().message, HasSubstr("SCONCE_WEBGPU_LIBRARY"));
  }
}

TEST(Library, WhatWasTriedIsListed) {
  ScopedVariable site("SCONCE_PYTHON_SITE", "/nonexistent/site-packages");
  auto device = Device::open();
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::not_found);
  EXPECT_THAT(device.error().message, HasSubstr("libwebgpu_dawn"));
  EXPECT_THAT(device.error().message, HasSubstr("/nonexistent/site-packages holds no folder wgpudawn"));
  EXPECT_THAT(device.error().message, HasSubstr("pip install wgpudawn cffi"));
}

// ---- adapters ----

AdapterInfo adapter(const char* name, const char* vendor, AdapterClass adapter_class) {
  return {.name = name, .vendor = vendor, .driver = "", .backend = "Vulkan", .adapter_class = adapter_class};
}

TEST(Adapters, ASelectorNamesAClassOrAPartOfAName) {
  const AdapterInfo adapters[] = {adapter("NVIDIA H200", "nvidia", AdapterClass::discrete),
                                  adapter("Iris Xe", "intel", AdapterClass::integrated),
                                  adapter("llvmpipe (LLVM 19)", "mesa", AdapterClass::software),
                                  adapter("SwiftShader Device", "google", AdapterClass::software)};
  const std::pair<const char*, size_t> cases[] = {
      {"", 0},         {"discrete", 0}, {"h200", 0},        {"NVIDIA", 0}, {"integrated", 1},  {"Intel", 1},
      {"software", 2}, {"llvmpipe", 2}, {"swiftshader", 3}, {"google", 3}, {"SwiftShader", 3}, {"xe", 1}};
  for (auto [selector, expected] : cases) {
    auto chosen = choose_adapter(adapters, selector);
    ASSERT_TRUE(chosen) << selector;
    EXPECT_EQ(*chosen, expected) << selector;
  }
  auto none = choose_adapter(adapters, "radeon");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_THAT(none.error().message, HasSubstr("'radeon'"));
  for (const AdapterInfo& a : adapters) EXPECT_THAT(none.error().message, HasSubstr(a.to_string()));
}

TEST(Adapters, AreListedBestFirstAndOnce) {
  auto adapters = Device::list();
  ASSERT_TRUE(adapters) << adapters.error().to_string();
  for (size_t i = 0; i < adapters->size(); ++i) {
    const AdapterInfo& a = (*adapters)[i];
    SCOPED_TRACE(a.to_string());
    for (size_t j = 0; j < i; ++j) {
      EXPECT_NE((*adapters)[j].to_string(), a.to_string());
      EXPECT_LE((*adapters)[j].adapter_class, a.adapter_class);
    }
    EXPECT_FALSE(i > 0 && (*adapters)[i - 1].name.starts_with("SwiftShader") && a.name.starts_with("llvmpipe"));
    EXPECT_NE(a.backend, "Null");
    EXPECT_GE(a.limits.max_storage_buffers, 8u);
    EXPECT_GE(a.limits.max_storage_binding_bytes, 128u << 20);
  }
}

TEST(Adapters, TheNullAdapterIsRefused) {
  ScopedVariable variable("VK_DRIVER_FILES", "/nonexistent/icd.json");
  auto device = Device::open();
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::not_found);
  EXPECT_THAT(device.error().message, HasSubstr("Null adapter"));
  EXPECT_THAT(device.error().message, HasSubstr("mesa-vulkan-drivers"));
}

// ---- devices ----

TEST(Gpu, CapabilitiesAreTheAdaptersUnlessLowered) {
  auto gpu = open_gpu();
  const AdapterLimits& limits = gpu->adapter().limits;
  const record::Capabilities& full = gpu->capabilities();
  EXPECT_EQ(full.adapter_class, gpu->adapter().adapter_class);
  EXPECT_EQ(full.max_storage_buffers, limits.max_storage_buffers);
  EXPECT_EQ(full.max_workgroup_storage_bytes, limits.max_workgroup_storage_bytes);

  DeviceOptions options;
  options.lowered = {.f16 = false,
                     .subgroups = false,
                     .timestamps = false,
                     .packed_dot = false,
                     .max_workgroups_per_dimension = 8,
                     .max_workgroup_storage_bytes = 1u << 30,
                     .max_storage_binding_bytes = 1 << 20};
  const record::Capabilities lowered = open_gpu(options)->capabilities();
  EXPECT_FALSE(lowered.f16 || lowered.subgroups || lowered.timestamps || lowered.packed_dot);
  EXPECT_TRUE(lowered.matrix_configs.empty());
  EXPECT_EQ(lowered.max_workgroups_per_dimension, 8u);
  EXPECT_EQ(lowered.max_storage_binding_bytes, 1u << 20);
  EXPECT_EQ(lowered.max_workgroup_storage_bytes, full.max_workgroup_storage_bytes) << "limits are never raised";
}

TEST(Gpu, QuirksApplyToTheirVendor) {
  record::Capabilities capabilities{.max_storage_binding_bytes = 4ull << 30};
  apply_quirks(adapter("Iris Xe", "intel", AdapterClass::integrated), capabilities);
  EXPECT_EQ(capabilities.max_storage_binding_bytes, 4ull << 30);
  apply_quirks(adapter("NVIDIA H200", "nvidia", AdapterClass::discrete), capabilities);
  EXPECT_EQ(capabilities.max_storage_binding_bytes, (2ull << 30) - 4);
}

TEST(Gpu, DevicesOfOneProcessAreIndependent) {
  auto first = open_gpu(), second = open_gpu();
  first->destroy();
  EXPECT_FALSE(first->check());
  RmsNorm norm(2, 8);
  Replayer replayer(second);
  ASSERT_OK(replayer.prepare(norm.tables));
  expect_close(run(replayer, norm.step), norm.expected());
}

// Every mode and every software driver of this machine gives the same numbers.
TEST(Gpu, AllModesAndAdaptersAgree) {
  auto adapters = Device::list();
  ASSERT_TRUE(adapters) << adapters.error().to_string();
  for (const AdapterInfo& info : *adapters) {
    for (DeviceMode mode : {DeviceMode::checked, DeviceMode::fast}) {
      SCOPED_TRACE(info.to_string());
      DeviceOptions options;
      options.adapter = info.name;
      options.mode = mode;
      RmsNorm norm(5, 70);
      Replayer replayer(open_gpu(options));
      EXPECT_EQ(replayer.gpu().adapter().name, info.name);
      ASSERT_OK(replayer.prepare(norm.tables));
      expect_close(run(replayer, norm.step), norm.expected());
    }
  }
}

// ---- the cache on disk ----

std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(BlobCache, CompiledPipelinesAreKeptAndDamagedFilesIgnored) {
  DeviceOptions options;
  options.cache_dir = ::testing::TempDir() + "/sconce_blob_cache_test";
  std::filesystem::remove_all(options.cache_dir);
  auto compile_and_run = [&] {
    RmsNorm norm(3, 40);
    Replayer replayer(open_gpu(options));
    ASSERT_OK(replayer.prepare(norm.tables));
    expect_close(run(replayer, norm.step), norm.expected());
  };
  compile_and_run();
  auto files = files_below(options.cache_dir);
  ASSERT_FALSE(files.empty());
  std::vector<std::string> stored;
  for (const auto& file : files) {
    EXPECT_EQ(file.extension(), ".blob") << "an unfinished file is left: " << file;
    stored.push_back(contents(file));
  }

  // A second start finds them: were they compiled again, Dawn would write the files again.
  for (const auto& file : files) std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  auto times = [&] {
    std::vector<std::filesystem::file_time_type> all;
    for (const auto& file : files) all.push_back(std::filesystem::last_write_time(file));
    return all;
  };
  auto before = times();
  compile_and_run();
  EXPECT_EQ(times(), before);
  EXPECT_EQ(files_below(options.cache_dir), files);

  // Cut short, changed in the middle, another file's contents: none is used, and all are written anew.
  for (size_t i = 0; i < files.size(); ++i) {
    std::string damaged = stored[i];
    if (i % 3 == 0) damaged.resize(damaged.size() / 2);
    if (i % 3 == 1) damaged[damaged.size() - 9] ^= 1;
    if (i % 3 == 2) damaged = stored[0];
    std::filesystem::remove(files[i]);
    std::ofstream(files[i], std::ios::binary) << damaged;
  }
  compile_and_run();
  for (size_t i = 0; i < files.size(); ++i) EXPECT_EQ(contents(files[i]).size(), stored[i].size()) << files[i];
}

TEST(BlobCache, AFolderThatCannotBeMadeIsNoError) {
  DeviceOptions options;
  options.cache_dir = "/proc/nowhere";
  EXPECT_TRUE(open_gpu(options));
  options.cache = false;
  EXPECT_TRUE(open_gpu(options));
}

}  // namespace
}  // namespace sconce::webgpu
