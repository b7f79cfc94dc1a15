#include "two_ranks.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "chains.h"

namespace skewscope::blame {
namespace {

constexpr double kMostApart = 0.3;  // of the work in front of messages, where it tells the number of stages

// How many forward and backward passes a rank runs in front of each of its messages.
struct PassesBefore {
  double forward = 0, backward = 0;
};
std::vector<PassesBefore> passes_before_sends(const PipelinePlan& plan, int32_t rank) {
  std::vector<PassesBefore> before(1);
  for (const StagePass& pass : passes_of(plan, rank)) {
    (pass.backward ? before.back().backward : before.back().forward) += 1;
    const int32_t stage = pass.chunk * plan.ranks + rank;
    const bool sends = pass.backward ? stage > 0 : stage + 1 < plan.ranks * plan.virtual_stages;
    if (sends) before.emplace_back();
  }
  before.pop_back();
  return before;
}

// The part of the work that no F and B passes of equal lengths explain: least squares.
double unexplained(const std::vector<double>& work, const std::vector<PassesBefore>& passes) {
  if (work.size() != passes.size()) return 1;
  double ff = 0, fb = 0, bb = 0, fw = 0, bw = 0, ww = 0;
  for (size_t k = 0; k < work.size(); ++k) {
    ff += passes[k].forward * passes[k].forward;
    fb += passes[k].forward * passes[k].backward;
    bb += passes[k].backward * passes[k].backward;
    fw += passes[k].forward * work[k];
    bw += passes[k].backward * work[k];
    ww += work[k] * work[k];
  }
  if (ww <= 0) return 1;
  const double determinant = ff * bb - fb * fb;
  double f = 0, b = 0;
  if (determinant > 1e-9 * ff * bb) {
    f = (fw * bb - bw * fb) / determinant;
    b = (bw * ff - fw * fb) / determinant;
  } else if (ff > 0) {  // always together
    f = fw / ff;
  }
  if (f < 0 || b < 0) return 1;
  double rest = 0;
  for (size_t k = 0; k < work.size(); ++k) {
    const double own = work[k] - f * passes[k].forward - b * passes[k].backward;
    rest += own * own;
  }
  return std::sqrt(rest / ww);
}

// Work in front of each message that a rank sends, the mean over its rounds.
std::vector<double> work_before_sends(const ReplayPlan& plan, const PipelineRank& rank) {
  const RankLine& line = plan.lines[rank.trace.index()];
  std::vector<double> until(1, 0);  // by fork
  for (const Fork& fork : line.forks) until.push_back(until.back() + static_cast<double>(fork.work_ns));
  const auto work_at = [&](const MessageEvent& event) {
    return until[static_cast<size_t>(plan.fork_of_row[event.row]) + 1];
  };
  std::vector<double> work;
  for (const MessageRound& round : rank.rounds) {
    double at = work_at(rank.events[round.first]);
    size_t k = 0;
    for (size_t e = round.first; e < round.end; ++e) {
      if (!rank.events[e].sends) continue;
      if (work.size() == k) work.push_back(0);
      work[k++] += std::max(0.0, work_at(rank.events[e]) - at);
      at = std::max(at, work_at(rank.events[e]));
    }
  }
  return work;
}

}  // namespace

PipelinePlan plan_of_two(const ReplayPlan& plan, const PipelineRank& last, int32_t sends) {
  const std::vector<double> work = work_before_sends(plan, last);
  // Where all micro-batches are under way at once, an interleaved schedule runs them forward first.
  const auto rest_of = [&](PipelinePlan candidate) {
    const double in_turn = unexplained(work, passes_before_sends(candidate, 1));
    candidate.schedule = PipelineSchedule::gpipe;
    return std::min(in_turn, unexplained(work, passes_before_sends(candidate, 1)));
  };
  PipelinePlan best{2, sends, 1, PipelineSchedule::one_f_one_b};
  double rest = std::min(kMostApart, rest_of(best) / 2);
  for (int32_t v = 2; v <= kMostVirtualStages && 2 * v - 1 <= sends; ++v) {
    if (sends % (2 * v - 1) != 0) continue;
    const PipelinePlan candidate{2, sends / (2 * v - 1), v, PipelineSchedule::interleaved};
    const double own = rest_of(candidate);
    if (own >= rest) continue;
    best = candidate;
    rest = own;
  }
  return best;
}

}  // namespace skewscope::blame
