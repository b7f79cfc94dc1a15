#include "pipeline_rows.h"

#include <algorithm>

namespace skewscope::report {
namespace {

double share_or_unknown(int64_t part_ns, int64_t whole_ns) {
  return part_ns < 0 || whole_ns <= 0 ? -1 : static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

}  // namespace

JobReport::Pipeline pipeline_of(const Pipeline& found) {
  JobReport::Pipeline out;
  if (found.stages.empty()) return out;
  out.stages = static_cast<int32_t>(found.stages.size());
  out.micro_batches = found.micro_batches;
  out.virtual_stages = found.virtual_stages;
  out.schedule = found.schedule;
  out.window_ns = found.window_ns;
  out.bubble_ns = found.bubble_ns;
  out.bubble_share = share_or_unknown(found.bubble_ns, found.window_ns);
  out.schedule_share = share_or_unknown(found.schedule_ns, found.window_ns);
  out.imbalance_share = share_or_unknown(found.imbalance_ns, found.window_ns);
  int64_t ranks = 0;
  for (size_t k = 0; k < found.stages.size(); ++k) {
    JobReport::Pipeline::Stage stage;
    stage.stage = static_cast<int32_t>(k);
    for (const Rank rank : found.stages[k].ranks) stage.ranks.push_back(rank.value);
    ranks += std::ssize(stage.ranks);
    if (found.bubble_ns >= 0) {
      stage.work_ns = found.stages[k].work_ns;
      stage.bubble_ns = found.stages[k].bubble_ns;
    }
    out.by_stage.push_back(std::move(stage));
  }
  if (found.twice_ns >= 0) {
    const int64_t saved_ns = std::max<int64_t>(0, found.bubble_ns - found.twice_ns);
    out.with_twice_micro_batches_share = share_or_unknown(found.twice_ns, found.window_ns - saved_ns);
    out.with_twice_micro_batches_saved_ns = saved_ns / ranks;
  }
  return out;
}

}  // namespace skewscope::report
