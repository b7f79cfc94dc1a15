// The text of an event with each digit written as 0: its keys, words, nesting and how long its numbers are, whatever
// their values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace skewscope::ingest {

class EventSkeleton {
 public:
  static constexpr size_t kLargestEvent = 4096;

  // False: longer than kLargestEvent, nothing was taken. Cost: a few instructions for each 32 bytes.
  bool take(std::string_view event);

  // As long as the event: places in it are places in the event.
  std::string_view text() const { return {text_.data(), size_}; }
  uint64_t hash() const { return hash_; }

 private:
  std::array<char, kLargestEvent> text_;
  size_t size_ = 0;
  uint64_t hash_ = 0;
};

}  // namespace skewscope::ingest
