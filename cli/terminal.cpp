#include "cli/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace sconce::cli {
namespace {

std::atomic<bool> interrupt_flag = false;

void on_interrupt(int) {
  if (!interrupt_flag.exchange(true)) return;
  // Only async-signal-safe calls here. The line break keeps the shell's prompt off the answer's line.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, "\n", 1);
  _exit(130);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;  // no SA_RESTART: waiting for input ends too
  sigaction(SIGINT, &action, nullptr);
}
bool interrupted() {
  return interrupt_flag;
}
void forget_interrupt() {
  interrupt_flag = false;
}

void keep_standard_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) (void)open("/dev/null", O_RDWR);  // the lowest free number: this one
}
bool stdout_is_written() {
  return std::fflush(stdout) == 0 && !std::ferror(stdout);
}

bool stdin_is_terminal() {
  return isatty(STDIN_FILENO);
}
bool stdout_is_terminal() {
  return isatty(STDOUT_FILENO);
}
bool stderr_is_terminal() {
  return isatty(STDERR_FILENO);
}

std::optional<std::string> read_line() {
  char* line = nullptr;
  size_t capacity = 0;
  const ssize_t length = getline(&line, &capacity, stdin);
  std::optional<std::string> text;
  if (length >= 0 && !interrupted()) text.emplace(line, static_cast<size_t>(length));
  std::free(line);
  if (text && text->ends_with('\n')) text->pop_back();
  return text;
}

std::optional<std::string> read_all_input() {
  std::string text;
  char chunk[4096];
  while (!interrupted()) {
    const ssize_t count = read(STDIN_FILENO, chunk, sizeof chunk);
    if (count > 0) text.append(chunk, static_cast<size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) return text;
  }
  return std::nullopt;
}

SilencedStderr::SilencedStderr() : saved_(dup(STDERR_FILENO)) {
  std::fflush(stderr);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  dup2(nowhere, STDERR_FILENO);
  close(nowhere);
}
SilencedStderr::~SilencedStderr() {
  if (saved_ < 0) return;
  dup2(saved_, STDERR_FILENO);
  close(saved_);
}

void ProgressBar::show(std::string_view title, uint64_t done, uint64_t total) {
  constexpr uint64_t kWidth = 30;
  if (!visible_ || total == 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && title == title_ && done < total && now - last_ < std::chrono::milliseconds(100)) return;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const auto filled = static_cast<size_t>(share * kWidth);
  fmt::print(stderr, "\r\033[K{:#<{}}{:.<{}} {}: {:.0f} %", "", filled, "", kWidth - filled, title, share * 100);
  std::fflush(stderr);
  title_ = title;
  last_ = now;
  drawn_ = true;
}

void ProgressBar::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

}  // namespace sconce::cli
