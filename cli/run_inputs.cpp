#include "cli/run_inputs.h"

#include <cmath>
#include <map>
#include <optional>

#include "base/math.h"
#include "cli/checks.h"
#include "cli/elements.h"
#include "io/tensor_files.h"

namespace sconce::cli {
namespace {

// "3=rest" of an option gives 3 and "rest"; the index must be that of an input.
Result<std::pair<size_t, std::string_view>> split_assignment(std::string_view text, size_t inputs) {
  const size_t equals = text.find('=');
  size_t index = 0;
  SCONCE_CHECK(equals != text.npos && parse_number(text.substr(0, equals), index),
               "\"{}\" does not have the form INPUT=..., with an input's number before the equals sign.", text);
  SCONCE_CHECK(index < inputs, "\"{}\" names input {}, but the method has {} inputs, counted from 0.", text, index,
               inputs);
  return std::pair(index, text.substr(equals + 1));
}

// "1,17" or, for a scalar, nothing.
Result<Shape> parse_shape(std::string_view text) {
  std::vector<int64_t> dims;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t comma = rest.find(',');
    int64_t dim = 0;
    SCONCE_CHECK(parse_number(rest.substr(0, comma), dim), "\"{}\" is not a shape such as 1,17.", text);
    dims.push_back(dim);
    rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
  }
  return Shape::from(dims);
}

// A number that elements of this type can hold.
Result<double> parse_value(std::string_view option, std::string_view text, Dtype dtype) {
  double value = 0;
  SCONCE_CHECK(parse_number(text, value), "\"{}\" does not end in a number.", option);
  const bool real = dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::f64;
  SCONCE_CHECK(real || (value == std::trunc(value) && std::abs(value) <= 2147483648.0),
               "\"{}\" is of an input of {}, which holds whole numbers of 32 bits.", option, dtype);
  return value;
}

// "0", "in0", "input0" and so on.
Result<size_t> input_of_name(std::string_view name, size_t inputs) {
  std::string_view digits = name;
  for (std::string_view prefix : {"input", "in"})
    if (digits.starts_with(prefix)) digits.remove_prefix(prefix.size());
  size_t index = 0;
  SCONCE_CHECK(parse_number(digits, index) && index < inputs,
               "The tensor \"{}\" is no input: the method has {} of them, named 0, 1, ... or in0, in1, ...", name,
               inputs);
  return index;
}

// The inputs that come from files.
Result<std::map<size_t, Tensor>> read_inputs(const MethodInfo& method, const std::vector<std::string>& files) {
  std::map<size_t, Tensor> tensors;
  size_t next = 0;  // for .npy files
  for (const std::string& file : files) {
    SCONCE_TRY(io::NamedTensors named, io::read_tensors(file));
    for (auto& [name, tensor] : named) {
      SCONCE_TRY(const size_t index, name.empty() ? next : input_of_name(name, method.inputs.size()));
      SCONCE_CHECK(index < method.inputs.size(), "{} is file number {} for a method with {} inputs.", file, index + 1,
                   method.inputs.size());
      SCONCE_CHECK(tensors.emplace(index, std::move(tensor)).second, "{} gives input {} a second time.", file, index);
      next = index + 1;
    }
  }
  return tensors;
}

}  // namespace

Result<std::vector<Tensor>> gather_inputs(const MethodInfo& method, const InputOptions& options) {
  const size_t count = method.inputs.size();
  SCONCE_TRY(auto from_files, read_inputs(method, options.files));
  // An input has one source.
  auto check_free = [&](std::string_view text, size_t input, const auto& given) -> Result<void> {
    SCONCE_CHECK(!from_files.contains(input), "\"{}\" is of input {}, which a file gives.", text, input);
    SCONCE_CHECK(!given.contains(input), "\"{}\" is of input {}, which has one already.", text, input);
    return {};
  };
  std::map<size_t, Shape> shapes;
  for (const std::string& text : options.shapes) {
    SCONCE_TRY(auto assignment, split_assignment(text, count));
    SCONCE_DO(check_free(text, assignment.first, shapes));
    SCONCE_TRY(shapes[assignment.first], parse_shape(assignment.second));
  }
  std::map<size_t, double> values;
  for (const std::string& text : options.values) {
    SCONCE_TRY(auto assignment, split_assignment(text, count));
    SCONCE_DO(check_free(text, assignment.first, values));
    SCONCE_TRY(values[assignment.first], parse_value(text, assignment.second, method.inputs[assignment.first].dtype));
  }

  std::vector<Tensor> inputs;
  RandomNumbers random(options.seed);
  for (size_t i = 0; i < count; ++i) {
    if (auto found = from_files.find(i); found != from_files.end()) {
      inputs.push_back(std::move(found->second));
      continue;
    }
    const ValueInfo& info = method.inputs[i];
    const Shape shape = shapes.contains(i) ? shapes[i] : info.bound;
    inputs.push_back(Tensor::zeros(info.dtype, shape));
    if (values.contains(i))
      fill(inputs.back(), values[i]);
    else if (options.random)
      fill_random(inputs.back(), random, options.high);
    else
      return fail(ErrorCode::invalid_argument,
                  "Input {} ({} {}) has no value; give a file, --value {}=NUMBER or --random.", i, info.dtype,
                  info.bound, i);
  }
  return inputs;
}

}  // namespace sconce::cli
