// What stood at each position among the GPU rows of equal instances (TraceLens' kernel_details_summary).
#pragma once

#include <vector>

#include "operator_view.h"

namespace skewscope::summarize {

class KernelPositions {
 public:
  // The GPU rows of the next instance, in the order of the trace file. The first instance says how many there are;
  // others with another number are left out.
  template <class Rows>
  void add(const OperatorView& view, const Rows& gpu_rows) {
    if (durations_ns_.empty()) {
      first_.assign(gpu_rows.begin(), gpu_rows.end());
      durations_ns_.resize(first_.size());
    }
    if (static_cast<size_t>(gpu_rows.size()) != first_.size()) return;
    size_t position = 0;
    for (const int32_t row : gpu_rows) {
      durations_ns_[position++].push_back(view.gpu().duration_ns[static_cast<size_t>(row)]);
    }
  }

  std::vector<KernelPosition> finish(const OperatorView& view);

 private:
  std::vector<int32_t> first_;
  std::vector<std::vector<int64_t>> durations_ns_;  // per position
};

}  // namespace skewscope::summarize
