// The efficiencies of POP and TALP by their definitions, from true times: computing U and active A per rank, elapsed E
// = the longest rank's first to last GPU row. The ideal network of "transfer" is not replayed but run: the same random
// job, in which every collective ends when its last member arrives.
#include "efficiency.h"

#include <algorithm>
#include <utility>

namespace skewscope::simulate {
namespace {

// Length of the union.
int64_t covered_ns(std::vector<std::pair<int64_t, int64_t>>& spans) {
  std::sort(spans.begin(), spans.end());
  int64_t covered = 0, until = INT64_MIN;
  for (const auto& [begin, end] : spans) {
    covered += std::max<int64_t>(0, end - std::max(begin, until));
    until = std::max(until, end);
  }
  return covered;
}

}  // namespace

EfficiencyTruth::EfficiencyTruth(const Job& job) : job_(job), ranks_(static_cast<size_t>(job.topology.ranks)) {}

void EfficiencyTruth::add_step(const StepTimeline& timeline) {
  for (int32_t rank = 0; rank < job_.topology.ranks; ++rank) {
    RankTimes& times = ranks_[static_cast<size_t>(rank)];
    const std::vector<OpTimes>& ops = timeline.ranks[static_cast<size_t>(rank)].ops;
    std::vector<std::pair<int64_t, int64_t>> computing, active;
    for (size_t row = 0; row < ops.size(); ++row) {
      const OpClass what = job_.program(rank).ops[row].what;
      active.emplace_back(ops[row].start, ops[row].end);
      if (what == OpClass::kernel || what == OpClass::memset) computing.push_back(active.back());
      if (times.first_ns < 0) times.first_ns = ops[row].start;
      times.first_ns = std::min(times.first_ns, ops[row].start);
      times.last_ns = std::max(times.last_ns, ops[row].end);
    }
    times.compute_ns += covered_ns(computing);
    times.active_ns += covered_ns(active);
  }
}

double EfficiencyTruth::elapsed_ns() const {
  int64_t longest = 0;
  for (const RankTimes& times : ranks_) longest = std::max(longest, times.last_ns - times.first_ns);
  return static_cast<double>(longest);
}

EfficiencyTruth::Ratios EfficiencyTruth::ratios(const EfficiencyTruth& ideal) const {
  double sum_compute = 0, max_compute = 0, max_active = 0;
  for (const RankTimes& times : ranks_) {
    sum_compute += static_cast<double>(times.compute_ns);
    max_compute = std::max(max_compute, static_cast<double>(times.compute_ns));
    max_active = std::max(max_active, static_cast<double>(times.active_ns));
  }
  const double elapsed = elapsed_ns(), count = static_cast<double>(ranks_.size());
  Ratios r;
  r.parallel = sum_compute / (count * elapsed);
  r.load_balance = sum_compute / (count * max_compute);
  r.communication = max_compute / elapsed;
  r.serialization = max_compute / ideal.elapsed_ns();
  r.transfer = ideal.elapsed_ns() / elapsed;
  r.gpu_communication = max_compute / max_active;
  r.orchestration = max_active / elapsed;
  return r;
}

}  // namespace skewscope::simulate
