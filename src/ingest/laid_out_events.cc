#include "laid_out_events.h"

#include "json_text.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

constexpr size_t kLargestIndent = 32;

}  // namespace

// The indentation is that of the first event that follows another; the keys of the first must stand deeper.
bool LaidOutEvents::find_layout() {
  const size_t first = text_.find_first_not_of(" \t\r\n"sv);
  if (first == kNowhere || !text_.substr(first).starts_with("{\n"sv)) return false;
  const size_t keys = text_.find_first_not_of(' ', first + 2);
  const size_t between = text_.find("},\n"sv, first);
  if (between == kNowhere || keys == kNowhere) return false;
  const size_t line = between + 3;
  const size_t brace = text_.find_first_not_of(' ', line);
  if (brace == kNowhere || text_[brace] != '{') return false;
  indent_ = brace - line;
  if (indent_ >= keys - (first + 2) || indent_ > kLargestIndent) return false;
  braces_ = LineBraces(text_, indent_, first + 1);
  following_ = first;
  return true;
}

bool LaidOutEvents::next() {
  if (following_ == kNowhere) return false;
  begin_ = following_;
  following_ = kNowhere;
  const size_t close = braces_.next();
  if (close == kNowhere || text_[close] != '}') return false;
  const size_t opening = braces_.next();
  if (opening != close + 3 + indent_ || text_[close + 1] != ',' || text_[opening] != '{') return false;
  end_ = close + 1;
  following_ = opening;
  return true;
}

}  // namespace skewscope::ingest
