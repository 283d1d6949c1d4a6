// The person at the terminal: Ctrl-C, lines of input, and a progress bar.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sconce::cli {

// From here on the first Ctrl-C only sets a flag, so that an answer can end in good order; the second one ends the
// process with exit code 130.
void catch_interrupts();
bool interrupted();
void forget_interrupt();

// Standard streams that the caller closed go nowhere, rather than into the next file that is opened.
void keep_standard_streams();
// Whether all that was printed on stdout has been written.
bool stdout_is_written();

bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();

// The next line of stdin without its line break; nothing at its end or when Ctrl-C is pressed meanwhile.
std::optional<std::string> read_line();
// All of stdin; nothing when Ctrl-C is pressed meanwhile.
std::optional<std::string> read_all_input();

// While it lives, what other libraries print on stderr is dropped: Dawn prints notes about limits there that no caller
// can turn off. Errors do not pass this way; they come back as values.
class SilencedStderr {
 public:
  SilencedStderr();
  SilencedStderr(const SilencedStderr&) = delete;
  SilencedStderr& operator=(const SilencedStderr&) = delete;
  ~SilencedStderr();

 private:
  int saved_;
};

// One line on stderr that shows how far a long step is; nothing at all unless stderr is a terminal. It is gone when the
// object is.
class ProgressBar {
 public:
  explicit ProgressBar(bool wanted) : visible_(wanted && stderr_is_terminal()) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { clear(); }

  // Redraws at most ten times a second, so it may be called often.
  void show(std::string_view title, uint64_t done, uint64_t total);
  void clear();

 private:
  bool visible_ = false;
  bool drawn_ = false;
  std::string title_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace sconce::cli
