#include "lines.h"

#include <algorithm>

#include "skewscope/base/printable.h"
#include "skewscope/base/text_columns.h"

namespace skewscope::report {
namespace {

const char* escape_of(Style style) {
  switch (style) {
    case Style::plain:
      return "";
    case Style::bold:
      return "\x1b[1m";
    case Style::alarm:
      return "\x1b[1;31m";
    case Style::warning:
      return "\x1b[33m";
  }
  return "";
}

}  // namespace

Lines::Lines(size_t columns) : columns_(std::max(columns, kLeastColumns)) {}

void Lines::add_wrapped(std::string_view label, std::string_view text, Style style) {
  for (const std::string& words : wrap(printable(text), columns_ - kLabel, LongWord::broken)) {
    push_back({pad(label, kLabel) + words, style});
    label = "";
  }
}

void Lines::add_path(std::string_view label, std::string_view path) {
  push_back({pad(label, kLabel) + fit_tail(path, columns_ - kLabel)});
}

void Lines::append(const Lines& other) { lines_.insert(lines_.end(), other.lines_.begin(), other.lines_.end()); }

std::string Lines::text(bool color) const {
  std::string out;
  for (const Line& line : lines_) {
    std::string text = fit(line.text, columns_);
    text.erase(text.find_last_not_of(' ') + 1);
    const bool styled = color && line.style != Style::plain && !text.empty();
    out += styled ? escape_of(line.style) + text + "\x1b[0m" : text;
    out += '\n';
  }
  return out;
}

}  // namespace skewscope::report
