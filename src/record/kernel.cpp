#include "record/kernel.h"

namespace sconce::record {

uint64_t variant_count(const KernelInfo& kernel) {
  uint64_t count = 1;
  for (const KernelChoice& choice : kernel.choices) count *= choice.values.size();
  return count;
}

std::string_view chosen(const KernelInfo& kernel, Variant variant, size_t choice) {
  for (size_t i = 0; i < choice; ++i) variant /= static_cast<Variant>(kernel.choices[i].values.size());
  return kernel.choices[choice].values[variant % kernel.choices[choice].values.size()];
}

std::string kernel_text(const KernelInfo& kernel, Variant variant) {
  std::string enables(kernel.enables), choices;
  for (size_t i = 0; i < kernel.choices.size(); ++i) {
    const KernelChoice& choice = kernel.choices[i];
    const std::string_view value = chosen(kernel, variant, i);
    switch (choice.kind) {
      case KernelChoice::Kind::number:
        choices += fmt::format("const {} = {};\n", choice.name, value);
        break;
      case KernelChoice::Kind::name:
        for (size_t v = 0; v < choice.values.size(); ++v)
          choices += fmt::format("const {}_{} = {}u;\n", choice.name, choice.values[v], v);
        choices += fmt::format("const {0} = {0}_{1};\n", choice.name, value);
        break;
      case KernelChoice::Kind::type:
        choices += fmt::format("alias {} = {};\n", choice.name, value);
        if (value == "f16" && enables.find("enable f16;") == std::string::npos) enables += "enable f16;\n";
        break;
    }
  }
  return enables + choices + std::string(kernel.source);
}

std::string kernel_label(const KernelInfo& kernel, Variant variant) {
  if (kernel.choices.empty()) return std::string(kernel.name);
  std::string label = fmt::format("{}<", kernel.name);
  for (size_t i = 0; i < kernel.choices.size(); ++i)
    label += fmt::format("{}{}={}", i ? ", " : "", kernel.choices[i].name, chosen(kernel, variant, i));
  return label + ">";
}

}  // namespace sconce::record
