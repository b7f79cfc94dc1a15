// Braces at the beginning of a line, behind a given number of blanks: as many bytes at a time as the processor
// compares.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace skewscope::ingest {

class LineBraces {
 public:
  static constexpr size_t kNone = std::string_view::npos;

  LineBraces() = default;
  LineBraces(std::string_view text, size_t indent, size_t from)
      : text_(text), indent_(indent), end_(std::max(from, indent + 1)) {}

  // The next one, from left to right; a brace whose line has nothing before its blanks is not one.
  size_t next();

 private:
  bool fill();
  bool begins_line(size_t brace) const;

  std::string_view text_;
  size_t indent_ = 0;
  size_t begin_ = 0, end_ = 0;        // of the window, in the text
  size_t words_ = 0, taken_ = 0;      // in the window
  uint64_t word_ = 0;                 // what is left of the word taken last
  std::array<uint64_t, 256> window_;  // a bit per byte
};

}  // namespace skewscope::ingest
