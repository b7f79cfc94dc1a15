#include "laid_out_events.h"

#include "characters.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

constexpr size_t kLargestIndent = 32;

}  // namespace

// The indentation is that of the first event that follows another; the keys of the first must be deeper.
bool LaidOutEvents::find_layout() {
  const size_t first = text_.find_first_not_of(" \t\r\n"sv);
  if (first == kNowhere || !text_.substr(first).starts_with("{\n"sv)) return false;
  const size_t keys = text_.find_first_not_of(' ', first + 2);
  const size_t between = text_.find("},\n"sv, first);
  if (between == kNowhere || keys == kNowhere) return false;
  const size_t line = between + 3;
  const size_t brace = text_.find_first_not_of(' ', line);
  if (brace == kNowhere || text_[brace] != '{') return false;
  const size_t indent = brace - line;  // blanks before the braces of events
  if (indent >= keys - (first + 2) || indent > kLargestIndent) return false;
  ends_ = EventEnds(text_, indent, first + 1);
  following_ = first;
  return true;
}

}  // namespace skewscope::ingest
