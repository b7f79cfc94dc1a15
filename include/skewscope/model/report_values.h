// What figures and words of report rows are made of (model/job_report.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace skewscope {

// Figures of a set of numbers; all 0 for an empty set. median: of an even number, the mean of the two in the middle, as
// numpy and pandas have it. p99: nearest rank (the smallest value with at least that share of values at or below it).
struct Statistics {
  double sum = 0, mean = 0, median = 0, p99 = 0, min = 0, max = 0;
  int64_t count = 0;  // numbers in the set; 0: not determined (null in report.json)
};

// What a loss is made of: rules in src/report/rows/losses.cc.
enum class LossKind : uint8_t {
  straggler,
  stragglers_together,
  late_in_turn,
  long_stage,
  pipeline_bubble,
  slow_links,
  waiting,
  exposed_transfer,
  launch_bound,
  exposed_copies,
};
const char* to_string(LossKind kind);

// How a gain is meant.
enum class GainBound : uint8_t { exact, at_least, at_most };
const char* to_string(GainBound bound);

// Whether a rank's replay differs clearly from those of innocent ranks.
enum class Standing : uint8_t { suspect, cause };
const char* to_string(Standing standing);

// How often a rank is last: rules in src/report/rows/stragglers.cc.
enum class LatePattern : uint8_t { recurring, rotating, one_off };
const char* to_string(LatePattern pattern);

// The enumerator that to_string() calls `text`; its enumerators are numbered from 0.
template <class Enum>
std::optional<Enum> from_text(std::string_view text) {
  for (int i = 0; i < 64 && !text.empty(); ++i) {
    if (to_string(static_cast<Enum>(i)) == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace skewscope
