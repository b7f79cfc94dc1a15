// Columns on a terminal: two of a wide character (CJK, emoji), none of a combining or invisible one.
#pragma once

#include <cstdint>
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
// A word that is longer than a line: one line of its own, as for paths to copy, or as many as it takes.
enum class LongWord : uint8_t { whole, broken };

// Lines of at most `width` columns, broken at blanks, but not between a number and its unit ("12 %"). None for an empty
// text.
std::vector<std::string> wrap(std::string_view text, size_t width, LongWord long_word = LongWord::whole);

}  // namespace skewscope
