// Text from files and paths, made safe to show: a trace may hold anything.
#pragma once

#include <string>
#include <string_view>

namespace skewscope {

// Bytes that are not UTF-8 become U+FFFD, one each; the rest stays.
std::string valid_utf8(std::string_view text);

// As above, and what a terminal would obey becomes '?': control characters (C0, DEL, C1), breaks of lines and changes
// of direction (U+2028 to 202E, 2066 to 2069).
std::string printable(std::string_view text);

}  // namespace skewscope
