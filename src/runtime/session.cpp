#include "runtime/session.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/math.h"
#include "runtime/convert.h"

namespace sconce::runtime {
namespace {

using graph::TensorValue;
using graph::ValueId;

uint64_t live_bytes(const TensorValue& tensor, const Shape& shape) {
  return shape.numel() * std::min<uint64_t>(size_of(tensor.dtype), 4);
}

}  // namespace

Session::Session(const Model& model, const planner::Method& method)
    : model_(model), planner_(method, model.constants(), tables_), wanted_(method.graph.outputs.size(), 1) {}

record::Step Session::reset() {
  broken_.reset();
  planner::StepWriter writer(tables_);
  for (ValueId state : planner_.states()) {
    const TensorValue& tensor = *method().graph.tensor(state);
    const uint32_t buffer = planner_.buffer(state);
    auto initial = method().parts.find(planner::Method::part_key(state, ops::Packing::raw));
    if (initial == method().parts.end()) {
      writer.clear(buffer, tables_.buffers[buffer].size);
    } else {
      writer.copy(planner_.packed_buffer(initial->second.front().data.id), buffer, planner::device_bytes(tensor));
    }
  }
  return writer.finish();
}

Result<void> Session::start(std::span<const TensorView> inputs) {
  if (broken_) return std::unexpected(*broken_);
  SCONCE_DO(read_inputs(inputs));
  phase_ = 0;
  auto planned = planner_.begin(inputs_);
  if (planned) planned = continue_plan();
  if (planned) return {};
  planner_.roll_back();
  return std::unexpected(std::move(planned).error().within(describe_inputs()));
}

// "run of [1, 20], [1] = 45": a node's message may not show which input is to blame.
std::string Session::describe_inputs() const {
  std::vector<std::string> items;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const planner::Input& input = inputs_[i];
    if (!method().graph.tensor(method().graph.inputs[i])) {
      items.push_back(fmt::format("{}", input.symint));
    } else if (input.integers.size() == 1) {
      items.push_back(fmt::format("{} = {}", input.shape, input.integers[0]));
    } else {
      items.push_back(input.shape.to_string());
    }
  }
  return fmt::format("run of {}", fmt::join(items, ", "));
}

// Converts everything before anything is planned, so that a value out of range is found first.
Result<void> Session::read_inputs(std::span<const TensorView> inputs) {
  const graph::Graph& graph = method().graph;
  SCONCE_CHECK(inputs.size() == graph.inputs.size(), "Method {} takes {} inputs, but {} were given.", graph.method,
               graph.inputs.size(), inputs.size());
  inputs_.resize(inputs.size());
  uint64_t total = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorValue* tensor = graph.tensor(graph.inputs[i]);
    inputs_[i].shape = inputs[i].shape;
    inputs_[i].integers.clear();
    inputs_[i].on_device = tensor && tensor->is_state && inputs[i].bytes.empty();
    auto within = [&](Error error) { return std::unexpected(std::move(error).within(fmt::format("input {}", i))); };
    if (!tensor) {
      auto value = integers_of(inputs[i]);
      if (!value) return within(std::move(value).error());
      SCONCE_CHECK(value->size() == 1, "Input {} is a SymInt and takes one integer, but {} are given.", i,
                   value->size());
      inputs_[i].symint = value->front();
      continue;
    }
    SCONCE_DO(planner_.check_input(i, inputs_[i]));  // before memory is taken for a shape that is out of bounds
    if (inputs_[i].on_device) continue;
    const uint64_t bytes = live_bytes(*tensor, inputs[i].shape);
    host_bytes_.resize(std::max<size_t>(host_bytes_.size(), total + round_up(bytes, 16)));
    auto converted = to_device(inputs[i], tensor->dtype, std::span(host_bytes_).subspan(total, bytes));
    if (!converted) return within(std::move(converted).error());
    total += round_up(round_up(bytes, 4), 16);
    if (tensor->dtype == Dtype::i64 || tensor->dtype == Dtype::i32) {
      SCONCE_TRY(inputs_[i].integers, integers_of(inputs[i]));
    }
  }
  return {};
}

Result<void> Session::continue_plan() {
  SCONCE_TRY(waits_for_, planner_.plan());
  return {};
}

void Session::abandon() {
  planner_.roll_back();
}

record::Step& Session::commit() {
  planner_.commit(step_);
  if (phase_ == 0) std::copy_n(host_bytes_.begin(), step_.host_bytes.size(), step_.host_bytes.begin());
  record::Phase& phase = step_.phases[phase_];
  phase.read_backs.clear();
  if (waits_for_) {
    const TensorValue& tensor = *method().graph.tensor(*waits_for_);
    phase.read_backs.push_back({planner_.buffer(*waits_for_),
                                round_up(live_bytes(tensor, planner_.shape(*waits_for_)), 4),
                                method().layout.root[*waits_for_]});
  } else {
    add_output_read_backs(phase);
  }
  return step_;
}

void Session::add_output_read_backs(record::Phase& phase) {
  for (size_t i = 0; i < wanted_.size(); ++i) {
    const ValueId output = method().graph.outputs[i];
    const TensorValue* tensor = method().graph.tensor(output);
    if (!tensor || !wanted_[i]) continue;
    phase.read_backs.push_back({planner_.buffer(output), round_up(live_bytes(*tensor, planner_.shape(output)), 4),
                                method().layout.root[output]});
  }
}

void Session::fail(Error error) {
  planner_.rewrite_step();  // the GPU may not have the parameters of this Step
  error.message += " The session cannot be used until it is reset, or the model is loaded again.";
  broken_ = std::move(error);
}

void Session::cancel() {
  // The later phases of this run will not be planned, so its shapes were never those of a whole run.
  if (waits_for_) planner_.roll_back();
}

size_t Session::dispatches() const {
  return static_cast<size_t>(std::ranges::count(step_.commands, record::CommandKind::dispatch, &record::Command::kind));
}

Result<std::optional<std::vector<Tensor>>> Session::finish_phase(std::span<const std::span<const std::byte>> bytes) {
  if (!waits_for_) return take_outputs(bytes);
  const TensorValue& tensor = *method().graph.tensor(*waits_for_);
  const Tensor contents = to_host(bytes[0], tensor.dtype, planner_.shape(*waits_for_));
  Result<void> planned;
  if (auto integers = integers_of(contents)) {
    planner_.provide(*waits_for_, *std::move(integers));
    planned = continue_plan();
  } else {
    planned = std::unexpected(std::move(integers).error());
  }
  if (planned) {
    ++phase_;
    return std::nullopt;
  }
  // What the first phases wrote in place stays written: the shapes go back, but a cache cannot.
  planner_.roll_back();
  if (!planner_.states().empty()) fail(planned.error());
  return std::unexpected(std::move(planned).error());
}

std::vector<Tensor> Session::take_outputs(std::span<const std::span<const std::byte>> bytes) {
  std::vector<Tensor> outputs;
  size_t next = 0;
  for (size_t i = 0; i < method().graph.outputs.size(); ++i) {
    const ValueId output = method().graph.outputs[i];
    if (!wanted_[i]) {
      outputs.emplace_back();
    } else if (method().graph.tensor(output)) {
      outputs.push_back(to_host(bytes[next++], method().graph.output_dtypes[i], planner_.shape(output)));
    } else {
      outputs.push_back(Tensor::of<int64_t>({}, {planner_.symint(output)}));
    }
  }
  return outputs;
}

}  // namespace sconce::runtime
