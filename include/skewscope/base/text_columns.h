// Columns on a terminal: two of a wide character (CJK, emoji), none of a combining or invisible one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace skewscope {

// `text` is UTF-8; a byte that is none counts one column.
size_t text_width(std::string_view text);
// Bytes of the longest beginning of `text` that takes at most `width` columns; no character is cut from its marks.
size_t bytes_within(std::string_view text, size_t width);
// At most `width` columns; a cut text ends in ".."; what printable() replaces is replaced.
std::string fit(std::string_view text, size_t width);
// As above, but the head is cut: the end of a path says more.
std::string fit_tail(std::string_view text, size_t width);
// fit() and filled with blanks to exactly `width` columns.
std::string pad(std::string_view text, size_t width);
std::string pad_left(std::string_view text, size_t width);
// Lines of at most `width` columns, broken at blanks; a longer word has a line of its own. None for an empty text.
std::vector<std::string> wrap(std::string_view text, size_t width);

}  // namespace skewscope
