// The problem: documents that are one object, with lists of millions of objects in it: parsed as a whole, the text is
// in memory. The idea: brackets and strings alone tell where an object begins and ends; each wanted one is handed to
// the parser by itself. Right because brackets within strings are skipped with their strings. Cost: one look at each
// byte, memory for the longest wanted object.
#include "json_elements.h"

#include <algorithm>
#include <array>
#include <utility>

namespace skewscope::ingest {
namespace {

constexpr size_t kElementsBlock = 1 << 20;
constexpr size_t kPadding = 128;  // of simdjson

// What a look at a byte outside of strings is for.
constexpr std::array<bool, 256> kTelling = [] {
  std::array<bool, 256> telling{};
  for (const char c : {'"', '{', '}', '[', ']'}) telling[static_cast<unsigned char>(c)] = true;
  return telling;
}();

}  // namespace

JsonElements::JsonElements(ByteSource& source, std::vector<std::string> paths)
    : source_(source), paths_(std::move(paths)) {}

// More text behind what is left; false: there is none.
bool JsonElements::fill() {
  if (ended_) return false;
  const size_t keep = std::min(capture_, at_);
  if (capture_ != std::string::npos && buffer_.size() - capture_ > kLargestElement) {
    capture_ = std::string::npos;  // what follows of it is skipped
    ++left_out_;
    return fill();
  }
  buffer_.erase(0, keep);
  at_ -= keep;
  if (capture_ != std::string::npos) capture_ -= keep;
  const size_t size = buffer_.size();
  buffer_.reserve(size + kElementsBlock + kPadding);
  buffer_.resize(size + kElementsBlock);
  const size_t got = source_.read(buffer_.data() + size, kElementsBlock);
  buffer_.resize(size + got);
  bytes_ += static_cast<int64_t>(got);
  ended_ = got < kElementsBlock;
  return got > 0;
}

// at_ is behind the opening quote; then behind the closing one. `text`: where it is wanted, escapes as written.
bool JsonElements::read_string(std::string* text) {
  if (text != nullptr) text->clear();
  for (;;) {
    const size_t end = buffer_.find_first_of("\"\\", at_);
    const size_t until = std::min(end, buffer_.size());
    if (text != nullptr && text->size() < kElementsBlock) text->append(buffer_, at_, until - at_);
    at_ = until;
    if (end == std::string::npos) {
      if (!fill()) return false;
      continue;
    }
    if (buffer_[at_++] == '"') return true;
    if (at_ >= buffer_.size() && !fill()) return false;
    if (text != nullptr) (*text += '\\') += buffer_[at_];
    ++at_;
  }
}

size_t JsonElements::wanted() const {
  return static_cast<size_t>(std::find(paths_.begin(), paths_.end(), path_) - paths_.begin());
}

// False: too deep.
bool JsonElements::begin_container(char bracket) {
  if (open_.size() == kDeepest) return false;
  began_ = true;
  const size_t path_size = path_.size();
  const bool named = !open_.empty() && open_.back().object;
  if (named) path_ += (path_.empty() ? "" : "/") + key_;
  open_.push_back({bracket == '{', path_size});
  if (capture_ != std::string::npos || bracket != '{') return true;
  capture_path_ = wanted();
  if (capture_path_ == paths_.size()) return true;
  capture_ = at_ - 1;
  capture_depth_ = open_.size();
  return true;
}

// Whether it ends a wanted object.
bool JsonElements::end_container() {
  if (open_.empty()) return false;
  const bool wanted = capture_ != std::string::npos && open_.size() == capture_depth_;
  path_.resize(std::min(path_.size(), open_.back().path_size));
  open_.pop_back();
  return wanted;
}

bool JsonElements::next(size_t& path, std::string_view& element) {
  for (;;) {
    while (at_ < buffer_.size() && !kTelling[static_cast<unsigned char>(buffer_[at_])]) ++at_;
    if (at_ >= buffer_.size()) {
      if (!fill()) return false;
      continue;
    }
    const char c = buffer_[at_++];
    if (c == '"') {
      const bool may_be_key = capture_ == std::string::npos && !open_.empty() && open_.back().object;
      if (!read_string(may_be_key ? &key_ : nullptr)) return false;
    } else if (c == '{' || c == '[') {
      if (!begin_container(c)) return false;
    } else if (end_container()) {
      path = capture_path_;
      buffer_.reserve(buffer_.size() + kPadding);
      element = std::string_view(buffer_).substr(capture_, at_ - capture_);
      capture_ = std::string::npos;
      return true;
    }
  }
}

}  // namespace skewscope::ingest
