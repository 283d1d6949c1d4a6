// What `sconce bench` measured, for people and for scripts.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "sconce/adapter.h"

namespace sconce::cli {

struct BenchReport {
  AdapterInfo adapter;
  double load_s = 0;
  struct Prefill {
    size_t tokens = 0;
    double seconds = 0;  // from the prompt to its first new token with its logits on the host
    size_t dispatches = 0;
  };
  std::vector<Prefill> prefill;
  struct Decode {
    size_t context = 0, steps = 0;
    bool logits = false;  // brought to the host at every step
    double seconds = 0;   // of all steps
    size_t dispatches = 0;
    double replan_us = 0;  // median over the steps
  };
  std::vector<Decode> decode;
  uint64_t weight_bytes = 0, state_bytes = 0, activation_bytes = 0, scratch_bytes = 0, device_bytes = 0;
  uint64_t peak_resident_bytes = 0, program_bytes = 0;
  bool device_is_host = false;  // a software adapter: its buffers are host memory
  size_t repeat = 0;
  double warm_up_s = 0;
  bool fast = false, fused = false, filled = false;
};

void print(const BenchReport& report);
nlohmann::ordered_json to_json(const BenchReport& report);

}  // namespace sconce::cli
