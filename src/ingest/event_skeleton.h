// The text of an event with each run of digits written as one 0: its keys, words and nesting, whatever its numbers.
// Taken 64 bytes at a time, by processors with AVX-512 VBMI2 or AVX2 (skeleton_methods.h).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "skeleton_methods.h"

namespace skewscope::ingest {

class EventSkeleton {
 public:
  static constexpr size_t kLargestEvent = 4096;
  static constexpr size_t kBlock = 64;

  explicit EventSkeleton(const SkeletonMethods* methods = fastest_skeletons()) : methods_(methods) {}

  // Whether this processor takes skeletons; nothing else may be asked where it does not.
  bool available() const { return methods_ != nullptr; }
  // `event`: does not end with a digit, in text with at least kBlock bytes behind it. False: longer than kLargestEvent,
  // nothing was taken.
  bool take(std::string_view event);
  // As take() where the skeleton is `expected`, which has kBlock bytes behind it, but for text() and hash(): these are
  // as before, which saves a third. False: it is another one, or longer than kLargestEvent; runs() means nothing then.
  bool take_expected(std::string_view event, std::string_view expected);
  // A number by which events of one skeleton mostly agree and those of others mostly do not: of the first two blocks,
  // in which tracers write category and name.
  uint32_t hint(std::string_view event) const { return methods_->hint(event); }

  // Followed by zeros up to a whole block.
  std::string_view text() const { return {text_.data(), size_}; }
  uint64_t hash() const { return hash_; }
  // Runs of digits, and the place in the event behind the n-th of them, counted from 1; behind(0) is 0. A place of the
  // event that lies inside no run is as far behind the last run before it as it is in any event of equal skeleton.
  size_t runs() const { return runs_; }
  size_t behind(size_t run) const { return behind_[run]; }

 private:
  const SkeletonMethods* methods_;
  alignas(kBlock) std::array<char, kLargestEvent + 2 * kBlock> text_;
  std::array<uint16_t, kLargestEvent / 2 + kBlock> behind_;
  size_t size_ = 0, runs_ = 0;
  uint64_t hash_ = 0;
};

}  // namespace skewscope::ingest
