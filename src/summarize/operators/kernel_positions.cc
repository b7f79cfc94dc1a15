#include "kernel_positions.h"

#include "src/summarize/gpu/spread.h"

namespace skewscope::summarize {

std::vector<KernelPosition> KernelPositions::finish(const OperatorView& view) {
  std::vector<KernelPosition> positions;
  for (size_t i = 0; i < first_.size(); ++i) {
    const auto row = static_cast<size_t>(first_[i]);
    positions.push_back({std::string(view.gpu_name(row)), view.gpu().stream[row], spread_of(durations_ns_[i])});
  }
  return positions;
}

}  // namespace skewscope::summarize
