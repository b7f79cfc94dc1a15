// Executions of programs: which rows are of which, and the steps of the training loop.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "src/ingest/content/file_content.h"
#include "xplane_rows.h"

namespace skewscope::ingest {

// Host ranges of one kind, asked by thread and time.
class RangesByThread {
 public:
  explicit RangesByThread(const std::vector<HostRange>& ranges);
  // The innermost one of the thread that holds `t`, of those for which `fits`; null: none.
  template <class Fits>
  const HostRange* around(int32_t thread, LocalNs t, const Fits& fits) const {
    const auto found = by_thread_.find(thread);
    if (found == by_thread_.end()) return nullptr;
    const std::vector<const HostRange*>& ranges = found->second;
    size_t at = first_behind(ranges, t);
    for (int looked = 0; at-- > 0 && looked < kMostNested; ++looked) {
      if (ranges[at]->end() >= t && fits(*ranges[at])) return ranges[at];
    }
    return nullptr;
  }

 private:
  static constexpr int kMostNested = 16;
  static size_t first_behind(const std::vector<const HostRange*>& ranges, LocalNs t);

  std::unordered_map<int32_t, std::vector<const HostRange*>> by_thread_;  // by start
};

// Where a row of a device was launched.
struct RowLaunch {
  LocalNs start;
  int32_t thread = -1;  // -1: not known
};

// The executions of the program that covers most time, as ranges of launches that follow one another; `launch`: of
// each row of the device, in the order of rows. Numbers are those of the user's steps around them, if each has its own;
// else the numbers of runs, which count alike on all hosts; else they count up from 0.
std::vector<StepRow> steps_of_runs(const DevicePlane& device, const std::vector<RowLaunch>& launch,
                                   const HostPlane& host);

}  // namespace skewscope::ingest
