// Stop strings: text that ends an answer.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sconce/result.h"

namespace sconce {

// Finds the first stop string in text that comes in pieces, and never lets a part of it through: a tail that may be
// the start of a stop string is held back until the next piece decides. A piece costs its length times the total
// length of the stop strings.
class StopStrings {
 public:
  // Without stop strings, every piece passes through. Errors: invalid_argument for an empty stop string.
  static Result<StopStrings> make(std::vector<std::string> stops);

  // The text that may be shown now. Once a stop string is found this is the text before it, and nothing later.
  std::string push(std::string_view piece);

  // The tail that is still held back, when the answer ends for another reason; the object is then as new.
  std::string finish();

  bool stopped() const { return stopped_; }

 private:
  explicit StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  // How many bytes at the end of held_ are the start of some stop string.
  size_t undecided() const;

  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace sconce
