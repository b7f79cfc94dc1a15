// Characters of JSON as text.
#pragma once

#include <cstddef>
#include <string_view>

namespace skewscope::ingest {

constexpr size_t kNowhere = std::string_view::npos;

inline bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20; }
inline bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// The first position from `at` on that is no space; text.size(): none.
inline size_t skip_space(std::string_view text, size_t at) {
  while (at < text.size() && is_space(text[at])) at++;
  return at;
}

}  // namespace skewscope::ingest
