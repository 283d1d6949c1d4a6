// The elements of a host tensor of any dtype, as numbers.
#pragma once

#include <cstdint>

#include "sconce/tensor.h"

namespace sconce::cli {

// SplitMix64: the same numbers from the same seed on every machine.
class RandomNumbers {
 public:
  explicit RandomNumbers(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
  }
  // From 0 up to but without 1.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

double element(const Tensor& tensor, size_t index);
void set_element(Tensor& tensor, size_t index, double value);

void fill(Tensor& tensor, double value);
// Real elements from -1 to 1, integers from 0 to high - 1, bools either way.
void fill_random(Tensor& tensor, RandomNumbers& random, int64_t high);

}  // namespace sconce::cli
