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
  size_t next() {
    while (taken_ < listed_ || fill()) {
      while (taken_ < listed_) {
        const size_t place = begin_ + places_[taken_++];
        if (begins_line(place)) return place;
      }
    }
    return kNone;
  }

 private:
  static constexpr size_t kWindowWords = 64;

  bool fill();
  void list_places(const uint64_t* marks, size_t words);
  bool begins_line(size_t brace) const {
    for (size_t at = brace - indent_; at < brace; ++at) {
      if (text_[at] != ' ') return false;
    }
    return true;
  }

  std::string_view text_;
  size_t indent_ = 0;
  size_t begin_ = 0, end_ = 0;                          // of the window, in the text
  size_t listed_ = 0, taken_ = 0;                       // of places_
  std::array<uint16_t, 64 * kWindowWords + 2> places_;  // in the window, of braces behind a line break
};

}  // namespace skewscope::ingest
