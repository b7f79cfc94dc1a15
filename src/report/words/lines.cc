#include "lines.h"

#include <algorithm>

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

void add_wrapped(Lines& lines, std::string_view label, std::string_view text, size_t most, Style style) {
  const size_t width = kColumns - kLabel;
  for (size_t n = 1; n <= most && !text.empty(); ++n, label = "") {
    size_t cut = text.size();
    if (text_width(text) > width && n < most) {
      cut = text.rfind(' ', bytes_within(text, width));
      if (cut == std::string_view::npos || cut == 0) cut = text.size();
    }
    lines.push_back({pad(label, kLabel) + fit(text.substr(0, cut), width), style});
    text.remove_prefix(std::min(text.size(), cut + 1));
  }
}

std::string text_of(const Lines& lines, bool color) {
  std::string out;
  for (const Line& line : lines) {
    std::string text = fit(line.text, kColumns);
    text.erase(text.find_last_not_of(' ') + 1);
    const bool styled = color && line.style != Style::plain && !text.empty();
    out += styled ? escape_of(line.style) + text + "\x1b[0m" : text;
    out += '\n';
  }
  return out;
}

}  // namespace skewscope::report
