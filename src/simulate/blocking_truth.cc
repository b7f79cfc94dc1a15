#include "blocking_truth.h"

#include <algorithm>

namespace skewscope::simulate {

BlockingTruth::BlockingTruth(const Job& job) : spans_(static_cast<size_t>(job.topology.ranks)) {}

void BlockingTruth::add_step(const StepTimeline& timeline) {
  for (size_t rank = 0; rank < spans_.size(); ++rank) {
    for (const OpTimes& times : timeline.ranks[rank].ops) {
      spans_[rank].first_ns = std::min(spans_[rank].first_ns, times.start);
      spans_[rank].last_ns = std::max(spans_[rank].last_ns, times.end);
    }
  }
}

int64_t BlockingTruth::blocking_ns(int32_t rank, const EfficiencyTruth::RankTimes& real) const {
  const Span& alone = spans_[static_cast<size_t>(rank)];
  return (real.last_ns - real.first_ns) - (alone.last_ns - alone.first_ns);
}

}  // namespace skewscope::simulate
