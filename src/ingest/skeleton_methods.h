// How skeletons are taken (event_skeleton.h) with what a processor can.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace skewscope::ingest {

struct TakenSkeleton {
  size_t size, runs;
  uint64_t hash;
};

// Texts have EventSkeleton::kBlock bytes behind them. `behind`: places in the event behind its runs of digits; has room
// for as many as there are, and a block.
struct SkeletonMethods {
  static constexpr size_t kOther = std::string_view::npos;

  const char* name;
  // Writes the skeleton and zeros up to a whole block behind it.
  TakenSkeleton (*take)(std::string_view event, char* text, uint16_t* behind);
  // The runs of an event whose skeleton is `expected`; kOther where it is another one.
  size_t (*take_expected)(std::string_view event, std::string_view expected, uint16_t* behind);
  uint32_t (*hint)(std::string_view event);
};

// Null where this processor cannot.
const SkeletonMethods* avx2_skeletons();
const SkeletonMethods* avx512_skeletons();
// The fastest of them; null where there is none.
const SkeletonMethods* fastest_skeletons();

}  // namespace skewscope::ingest
