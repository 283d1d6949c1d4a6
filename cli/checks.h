// What the numbers of the command line may be, as checks whose messages are sentences.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <string>

namespace sconce::cli {

template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && stop == text.data() + text.size();
}

// CLI11 would take "-1" for the largest number.
inline CLI::Validator whole_number(uint64_t least = 0) {
  return CLI::Validator(
      [least](std::string& text) -> std::string {
        uint64_t number = 0;
        if (parse_number(text, number) && number >= least) return "";
        return fmt::format("'{}' is not a whole number of at least {}.", text, least);
      },
      "");
}

inline CLI::Validator number_between(double least, double most = HUGE_VAL) {
  return CLI::Validator(
      [least, most](std::string& text) -> std::string {
        double number = 0;
        if (parse_number(text, number) && number >= least && number <= most && std::isfinite(number)) return "";
        if (std::isfinite(most)) return fmt::format("'{}' is not a number from {} to {}.", text, least, most);
        return fmt::format("'{}' is not a number of at least {}.", text, least);
      },
      "");
}

}  // namespace sconce::cli
