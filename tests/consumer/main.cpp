// A program outside of Sconce's tree: it compiles against the installed headers and links the installed libraries.
#include <sconce/generator.h>
#include <sconce/model.h>

#include <cstdio>

int main() {
  sconce::DeviceOptions options;
  options.adapter = "an adapter that no machine has";
  auto device = sconce::Device::open(options);
  if (device) return 1;
  std::printf("%s: %s\n", sconce::name_of(device.error().code), device.error().message.c_str());
  return device.error().code == sconce::ErrorCode::not_found ? 0 : 1;
}
