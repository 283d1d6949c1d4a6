// Runs a program's method "forward" at two live shapes in one session.
//
//   run MODEL.pte
#include <cstdio>

#include "sconce/model.h"

namespace {

// Every input filled with zeros, with its first dim of more than 1 element halved: any dim from 0 to the upper bound is
// a live shape that the session takes, without loading or compiling anything again.
std::vector<sconce::Tensor> make_inputs(const sconce::MethodInfo& method, bool halved) {
  std::vector<sconce::Tensor> inputs;
  for (const sconce::ValueInfo& info : method.inputs) {
    sconce::Shape shape = info.bound;
    for (size_t i = 0; halved && i < shape.rank(); ++i)
      if (shape[i] > 1) {
        shape[i] /= 2;
        break;
      }
    inputs.push_back(sconce::Tensor::zeros(info.dtype, shape));
  }
  return inputs;
}

sconce::Result<void> run(const char* path) {
  auto device = sconce::Device::open();
  if (!device) return std::unexpected(device.error());
  auto model = sconce::Model::load(*device, path);
  if (!model) return std::unexpected(model.error());
  auto session = sconce::Session::create(*model);
  if (!session) return std::unexpected(session.error());

  for (bool halved : {false, true}) {
    const std::vector<sconce::Tensor> inputs = make_inputs(*model->method("forward"), halved);
    const std::vector<sconce::TensorView> views(inputs.begin(), inputs.end());
    // start() does not wait for the GPU; run() does the same in one blocking call.
    auto pending = session->start(views);
    if (!pending) return std::unexpected(pending.error());
    auto outputs = pending->wait();
    if (!outputs) return std::unexpected(outputs.error());
    for (const sconce::Tensor& output : *outputs)
      std::printf("%s %s\n", sconce::name_of(output.dtype), output.shape.to_string().c_str());
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: run MODEL.pte\n", stderr);
    return 2;
  }
  if (auto done = run(argv[1]); !done) {
    std::fprintf(stderr, "error: %s\n", done.error().to_string().c_str());
    return 1;
  }
  return 0;
}
