// Lines of a summary on a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace skewscope::report {

constexpr size_t kColumns = 80, kLabel = 9;

enum class Style : uint8_t { plain, bold, alarm, warning };

struct Line {
  std::string text;
  Style style = Style::plain;
};
using Lines = std::vector<Line>;

// `label`, then the words of `text` in at most `most` lines; what does not fit ends in "..".
void add_wrapped(Lines& lines, std::string_view label, std::string_view text, size_t most, Style style = Style::plain);

// At most kColumns wide; escapes only with `color`.
std::string text_of(const Lines& lines, bool color);

}  // namespace skewscope::report
