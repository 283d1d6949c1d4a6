// How close an output must be to its golden: the one place where tensors are compared.
#pragma once

#include <string>

#include "sconce/tensor.h"

namespace sconce::test {

// An element is wrong when its absolute error is above atol and its error relative to the golden is above rtol. Zeros
// ask for equality, which is also what integers and booleans must have.
struct Tolerance {
  double atol = 0, rtol = 0;
};

// Empty when the tensors agree, else a sentence with the shapes, or the number of wrong elements and the worst of them.
// A NaN agrees with a NaN only.
std::string difference(const Tensor& actual, const Tensor& golden, const Tolerance& tolerance);

// Equality in every bit.
inline std::string difference(const Tensor& actual, const Tensor& golden) {
  return difference(actual, golden, {});
}

}  // namespace sconce::test
