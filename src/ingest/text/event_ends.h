// Where one event ends and the next one begins in laid-out text: a closing brace behind a line break and a given number
// of blanks, a comma, and an opening brace in the same column of the next line.
//
// Idea: braces in that column are looked for as many bytes at a time as the processor compares, a window of the text
// after the other. A window counts only where all its closing braces are such ends and its opening braces are those
// that follow them; at the first other one (an event that was cut off, the end of the events) there are no more ends.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace skewscope::ingest {

class EventEnds {
 public:
  static constexpr size_t kNone = std::string_view::npos;

  EventEnds() = default;
  // Looks from the place `from` on, which lies in an event.
  EventEnds(std::string_view text, size_t indent, size_t from)
      : text_(text),
        indent_(indent),
        joint_(std::string(indent, ' ') + "},\n" + std::string(indent, ' ') + "{"),
        end_(std::max(from, indent + 1)) {}

  // The closing brace of the next end, from left to right.
  size_t next() {
    while (taken_ == listed_) {
      if (!fill()) return kNone;
    }
    return begin_ + offsets_[taken_++];
  }
  // From a closing brace to the opening one that follows.
  size_t to_opening() const { return indent_ + 3; }

 private:
  static constexpr size_t kWindowWords = 64;

  bool fill();
  void list_offsets(const uint64_t* closing, size_t words);
  bool all_are_ends(size_t opening);
  bool is_end(size_t brace) const;

  std::string_view text_;
  size_t indent_ = 0;
  std::string joint_;                                    // what is between two events, with the blanks before it
  size_t begin_ = 0, end_ = 0;                           // of the window, in the text
  size_t due_ = 0;                                       // opening braces that follow ends of the windows before
  size_t listed_ = 0, taken_ = 0;                        // of offsets_
  std::array<uint16_t, 64 * kWindowWords + 1> offsets_;  // in the window, of closing braces
};

}  // namespace skewscope::ingest
