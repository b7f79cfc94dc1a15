// Two clocks laid over one another: what ends seen on both tell, and what was known before.
#pragma once

#include <cstdint>
#include <vector>

namespace skewscope {

// Maps a member's clock to the hub's: hub = x + offset_ns + slope * (x - center_ns).
struct ClockLine {
  double offset_ns = 0;
  double slope = 0;
  int64_t center_ns = 0;

  int64_t apply(int64_t x) const;
};

// One end seen on two clocks: the member's reading, and hub minus member.
struct ClockTie {
  int64_t member_end_ns;
  int64_t offset_ns;
};

constexpr double kMostDrift = 120e-6;  // of one clock against another: four times the 30 ppm of a crystal oscillator

// Resistant line through ties: medians in at most 12 time bins, Theil-Sen slope over the bins (Theil 1950, Sen 1968),
// at most kMostDrift; an offset alone below 12 ties. `ties` is not empty.
ClockLine resistant_line(std::vector<ClockTie> ties);

// Median distance of hub ends from the line, the upper one of an even number. `ties` is not empty.
double scatter_of(const std::vector<ClockTie>& ties, const ClockLine& line);

constexpr int64_t kLargestPriorError = 1'000'000;  // ns

// An offset as other communicators showed it, and how far it may be off.
struct Prior {
  int64_t offset_ns = 0;
  int64_t error_ns = kLargestPriorError;
};

}  // namespace skewscope
