// Columns on a terminal, one per code point.
#pragma once

#include <string>
#include <string_view>

namespace skewscope::report {

size_t text_width(std::string_view text);
// At most `width` columns; a cut text ends in ".."; what printable() replaces is replaced.
std::string fit(std::string_view text, size_t width);
// As above, but the head is cut: the end of a path says more.
std::string fit_tail(std::string_view text, size_t width);
// fit() and filled with blanks to exactly `width` columns.
std::string pad(std::string_view text, size_t width);
std::string pad_left(std::string_view text, size_t width);

}  // namespace skewscope::report
