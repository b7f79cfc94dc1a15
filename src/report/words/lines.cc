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

std::vector<std::string> wrapped_words(std::string_view text, size_t width) {
  const std::string shown = printable(text);
  std::string_view rest = shown;
  std::vector<std::string> lines;
  while (!rest.empty()) {
    size_t cut = rest.size(), next = rest.size();
    if (text_width(rest) > width) {
      const size_t most = std::max<size_t>(1, bytes_within(rest, width));
      size_t blank = rest.rfind(' ', most);
      if (blank != std::string_view::npos && blank > 0 && rest.substr(blank + 1).starts_with('%')) {
        blank = rest.rfind(' ', blank - 1);  // a number keeps its sign
      }
      const bool broken = blank == std::string_view::npos || blank == 0;
      cut = broken ? most : blank;
      next = broken ? most : blank + 1;
    }
    lines.emplace_back(rest.substr(0, cut));
    rest.remove_prefix(std::min(rest.size(), next));
  }
  return lines;
}

Lines::Lines(size_t columns) : columns_(std::max(columns, kLeastColumns)) {}

void Lines::add_wrapped(std::string_view label, std::string_view text, Style style) {
  for (const std::string& words : wrapped_words(text, columns_ - kLabel)) {
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
