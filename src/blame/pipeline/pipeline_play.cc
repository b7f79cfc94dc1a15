#include "pipeline_play.h"

#include <algorithm>
#include <numeric>

namespace skewscope::blame {
namespace {

constexpr double kNotPlayed = -1;

// The k-th forward, or backward, pass of a rank: `ranks` micro-batches through one chunk, then through the next.
StagePass pass_number(const PipelinePlan& plan, bool backward, int32_t k) {
  if (plan.virtual_stages == 1) return {backward, 0, k};
  const int32_t round = plan.ranks * plan.virtual_stages;
  // The last round may hold fewer micro-batches than there are ranks.
  const int32_t first = k / round * plan.ranks, held = std::min(plan.ranks, plan.micro_batches - first);
  const int32_t chunk = k % round / held;
  return {backward, backward ? plan.virtual_stages - 1 - chunk : chunk, first + k % round % held};
}

int32_t warm_up(const PipelinePlan& plan, int32_t rank) {
  const int32_t all = plan.micro_batches * plan.virtual_stages, behind = plan.ranks - 1 - rank;
  if (plan.schedule == PipelineSchedule::gpipe) return all;
  const int32_t own = plan.virtual_stages == 1 ? behind : 2 * behind + (plan.virtual_stages - 1) * plan.ranks;
  return std::min(own, all);
}

class Player {
 public:
  Player(const PipelinePlan& plan, const std::vector<double>& work_ns)
      : plan_(plan), stages_(plan.ranks * plan.virtual_stages), now_(static_cast<size_t>(plan.ranks), 0) {
    for (const double ns : work_ns) forward_ns_.push_back(ns / 3 / (plan.micro_batches * plan.virtual_stages));
    for (auto& ends : end_)
      ends.assign(static_cast<size_t>(stages_) * static_cast<size_t>(plan.micro_batches), kNotPlayed);
    for (int32_t rank = 0; rank < plan.ranks; ++rank) order_.push_back(passes_of(plan, rank));
    next_.assign(static_cast<size_t>(plan.ranks), 0);
  }

  // When the last pass ends; -1: they wait for each other.
  double play() {
    for (bool any = true; any;) {
      any = false;
      // Backward passes come from the last rank, forward passes from the first.
      for (int32_t rank = 0; rank < plan_.ranks; ++rank) any = run(rank) || any;
      for (int32_t rank = plan_.ranks; rank-- > 0;) any = run(rank) || any;
    }
    for (size_t rank = 0; rank < order_.size(); ++rank) {
      if (next_[rank] < order_[rank].size()) return kNotPlayed;
    }
    return *std::max_element(now_.begin(), now_.end());
  }

 private:
  double& end(bool backward, int32_t stage, int32_t micro_batch) {
    return end_[backward ? 1 : 0][static_cast<size_t>(int64_t{stage} * plan_.micro_batches + micro_batch)];
  }

  // As far as it comes; whether it came any further.
  bool run(int32_t rank) {
    const auto r = static_cast<size_t>(rank);
    const size_t from = next_[r];
    for (; next_[r] < order_[r].size(); ++next_[r]) {
      const StagePass& pass = order_[r][next_[r]];
      const int32_t stage = pass.chunk * plan_.ranks + rank;
      double ready = pass.backward ? end(false, stage, pass.micro_batch) : 0;
      if (!pass.backward && stage > 0) ready = end(false, stage - 1, pass.micro_batch);
      if (pass.backward && stage + 1 < stages_) {
        const double behind = end(true, stage + 1, pass.micro_batch);
        ready = ready == kNotPlayed || behind == kNotPlayed ? kNotPlayed : std::max(ready, behind);
      }
      if (ready == kNotPlayed) break;
      now_[r] = std::max(now_[r], ready) + (pass.backward ? 2 : 1) * forward_ns_[r];
      end(pass.backward, stage, pass.micro_batch) = now_[r];
    }
    return next_[r] > from;
  }

  const PipelinePlan& plan_;
  int32_t stages_;
  std::vector<double> forward_ns_;             // one pass, by rank
  std::vector<double> now_;                    // by rank
  std::vector<std::vector<StagePass>> order_;  // by rank
  std::vector<size_t> next_;                   // by rank
  std::vector<double> end_[2];                 // forward, backward; by stage and micro-batch
};

}  // namespace

std::vector<StagePass> passes_of(const PipelinePlan& plan, int32_t rank) {
  const int32_t all = plan.micro_batches * plan.virtual_stages, first = warm_up(plan, rank);
  std::vector<StagePass> passes;
  for (int32_t k = 0; k < first; ++k) passes.push_back(pass_number(plan, false, k));
  for (int32_t k = 0; k < all; ++k) {
    if (k + first < all) passes.push_back(pass_number(plan, false, k + first));
    passes.push_back(pass_number(plan, true, k));
  }
  return passes;
}

double mean_wait_ns(const PipelinePlan& plan, const std::vector<double>& work_ns) {
  const double length = Player(plan, work_ns).play();
  if (length < 0) return -1;
  return length - std::accumulate(work_ns.begin(), work_ns.end(), 0.0) / static_cast<double>(work_ns.size());
}

double even_wait_ns(const PipelinePlan& plan, double work_ns) {
  return work_ns * (plan.ranks - 1) / (static_cast<double>(plan.micro_batches) * plan.virtual_stages);
}

}  // namespace skewscope::blame
