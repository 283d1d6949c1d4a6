// How figures are written for people and for scripts.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sconce/adapter.h"
#include "sconce/model.h"

namespace sconce::cli {

// "0 B", "12.3 KB", "88.5 MB": powers of 1000.
std::string format_bytes(uint64_t bytes);
// "1 node", "2 nodes".
std::string count_of(uint64_t count, const char* noun);
// "f32 [1, 255]" or "integer" for a SymInt.
std::string describe(const ValueInfo& value);

nlohmann::ordered_json to_json(const Shape& shape);
nlohmann::ordered_json to_json(const AdapterInfo& adapter);
void print_json(const nlohmann::ordered_json& value);

// The middle one of the values (the mean of the middle two); 0 without any.
double median(std::vector<double> values);
// 0 when no time has passed.
double per_second(double count, double seconds);

}  // namespace sconce::cli
