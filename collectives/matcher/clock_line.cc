#include "clock_line.h"

#include <algorithm>
#include <cmath>

#include "skewscope/base/middle.h"

namespace skewscope {

int64_t ClockLine::apply(int64_t x) const {
  return x + std::llround(offset_ns + slope * static_cast<double>(x - center_ns));
}

ClockLine resistant_line(std::vector<ClockTie> ties) {
  std::sort(ties.begin(), ties.end(),
            [](const ClockTie& a, const ClockTie& b) { return a.member_end_ns < b.member_end_ns; });
  ClockLine line;
  line.center_ns = ties[ties.size() / 2].member_end_ns;
  const size_t bins = std::clamp<size_t>(ties.size() / 3, 1, 12);
  std::vector<double> at, offset;
  for (size_t b = 0; b < bins; ++b) {
    std::vector<double> xs, ys;
    for (size_t k = b * ties.size() / bins; k < (b + 1) * ties.size() / bins; ++k) {
      xs.push_back(static_cast<double>(ties[k].member_end_ns - line.center_ns));
      ys.push_back(static_cast<double>(ties[k].offset_ns));
    }
    at.push_back(take_median(xs));
    offset.push_back(take_median(ys));
  }
  std::vector<double> slopes;
  for (size_t i = 0; i < bins; ++i) {
    for (size_t j = i + 1; j < bins; ++j) {
      if (at[j] > at[i]) slopes.push_back((offset[j] - offset[i]) / (at[j] - at[i]));
    }
  }
  if (bins >= 4) line.slope = std::clamp(take_median(slopes), -kMostDrift, kMostDrift);
  std::vector<double> rest;
  for (size_t i = 0; i < bins; ++i) rest.push_back(offset[i] - line.slope * at[i]);
  line.offset_ns = take_median(rest);
  return line;
}

double scatter_of(const std::vector<ClockTie>& ties, const ClockLine& line) {
  std::vector<double> distance;
  for (const ClockTie& tie : ties) {
    const int64_t hub_end = tie.member_end_ns + tie.offset_ns;
    distance.push_back(std::fabs(static_cast<double>(hub_end - line.apply(tie.member_end_ns))));
  }
  return take_middle(distance);
}

}  // namespace skewscope
