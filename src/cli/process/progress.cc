#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "skewscope/base/human_units.h"
#include "skewscope/base/text_columns.h"

namespace skewscope::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kMoment = 400ms, kPause = 200ms, kPauseOfLines = 2s;
// Sooner, how long it will take is a guess.
constexpr double kFirstGuess_s = 1, kLeastShare = 0.02;

std::atomic<bool> line_shown = false;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string left_words(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s left", std::max(1.0, seconds));
  return seconds < 5400 ? fmt::format("{:.0f} min left", seconds / 60) : fmt::format("{:.1f} h left", seconds / 3600);
}

// "41.0 of 80.0 GB"
std::string bytes_words(int64_t bytes, int64_t all) {
  const std::string of = human_bytes(all), done = human_bytes(bytes);
  const size_t unit = of.rfind(' ');
  const bool same = unit != std::string::npos && done.ends_with(of.substr(unit));
  return fmt::format("{} of {}", same ? done.substr(0, done.rfind(' ')) : done, of);
}

// `first`: bytes that were done when the time began.
std::string words_of(const char* verb, const ReadProgress::At& at, int64_t first, double seconds) {
  std::string words = fmt::format("{} {} of {} {}", verb, at.files, at.all_files, at.all_files == 1 ? "file" : "files");
  if (at.all_bytes <= 0) return words;
  words += ", " + bytes_words(at.bytes, at.all_bytes);
  const double done = static_cast<double>(at.bytes - first), left = static_cast<double>(at.all_bytes - at.bytes);
  if (seconds < kFirstGuess_s || done < kLeastShare * (done + left) || left <= 0) return words;
  return words + ", " + left_words(seconds * left / done);
}

}  // namespace

Progress::Progress(bool shown) : on_terminal_(isatty(STDERR_FILENO) == 1) {
  if (shown) thread_ = std::thread([this] { run(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  wake_.notify_all();
  thread_.join();
  if (!on_terminal_) show(words());
  clear_progress();
}

std::shared_ptr<ReadProgress> Progress::reading(std::string then) {
  if (!thread_.joinable()) return nullptr;
  const std::scoped_lock lock(mutex_);
  reading_ = std::make_shared<ReadProgress>();
  then_ = std::move(then);
  doing_.clear();
  began_s_ = now_s();
  return reading_;
}

void Progress::sent(const ReadProgress::At& at) {
  const std::scoped_lock lock(mutex_);
  sent_ = at;
  if (sent_first_) return;
  sent_first_ = at;
  began_s_ = now_s();
}

void Progress::doing(std::string what) {
  const std::scoped_lock lock(mutex_);
  doing_ = std::move(what);
  done_ = all_ = 0;
}

void Progress::count(int64_t done, int64_t all) {
  const std::scoped_lock lock(mutex_);
  done_ = done;
  all_ = all;
}

std::string Progress::words() const {
  const std::scoped_lock lock(mutex_);
  if (!doing_.empty()) return all_ > 0 ? fmt::format("{}: {} of {}", doing_, done_, all_) : doing_;
  if (sent_) return sent_->all_files == 0 ? "" : words_of("sent", *sent_, sent_first_->bytes, now_s() - began_s_);
  if (!reading_) return "";
  const ReadProgress::At at = reading_->at();
  if (at.all_files == 0) return "finding the traces";
  const std::string read = words_of("read", at, 0, now_s() - began_s_);
  return at.files < at.all_files || !on_terminal_ || then_.empty() ? read : fmt::format("{}; {}", read, then_);
}

void Progress::show(const std::string& text) {
  if (text.empty() || text == last_) return;
  last_ = text;
  if (!on_terminal_) {
    fmt::print(stderr, "skewscope: {}\n", text);
    return;
  }
  line_shown = true;
  fmt::print(stderr, "\r\x1b[K{}", fit("skewscope: " + text, terminal_columns(STDERR_FILENO) - 1));
  std::fflush(stderr);
}

void Progress::run() {
  std::unique_lock lock(mutex_);
  for (auto pause = kMoment; !wake_.wait_for(lock, pause, [this] { return ended_; });
       pause = on_terminal_ ? kPause : kPauseOfLines) {
    lock.unlock();
    show(words());
    lock.lock();
  }
}

void clear_progress() {
  if (!line_shown.exchange(false)) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

}  // namespace skewscope::cli
