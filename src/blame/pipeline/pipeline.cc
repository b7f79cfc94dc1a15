// Problem: a pipeline's ranks wait for each other by design, and that waiting has no culprit. How much of it is the
// schedule's, and what would help?
// Idea: three lengths per rank, from what was recorded (pipeline_shape.h, pipeline_waits.h).
//   bubble     its line stood still for messages or for collectives with other stages
//   work       the rest, without the messages' transfer and without what ranks spend outside their passes (optimizer,
//              gradients). Behind the first stage each forward pass follows a message and each backward pass sends one:
//              outside is what lies not between the first message that came and the last that was sent. The rank in the
//              middle of a pipeline's ranks tells it: what one does more there holds the others up like a longer
//              pass. For launches that come later than usual the host is to blame, not the stage. The work of a stage
//              is that of its rank in the middle: a single slow rank is no longer stage.
//   schedule   the bubble of this schedule with the same work evenly divided (pipeline_play.h)
// Stages of different lengths are played as they are: what they wait more is the imbalance. What is left of the bubble
// is messages' transfer on the way to a rank, jitter and late ranks. With twice as many micro-batches, each half as
// large, the same is played again; what is left over is taken to stay. A bubble smaller than whole backward passes
// allow is of a schedule that splits them (Qi et al. 2023, "Zero Bubble Pipeline Parallelism"), of which nothing more
// is claimed. Cost: O(calls + passes).
#include "pipeline.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pipeline_shape.h"
#include "pipeline_waits.h"
#include "skewscope/base/middle.h"

namespace skewscope::blame {
namespace {

constexpr double kLeastSplit = 0.9;      // of messages: fewer tell no bubble
constexpr double kLeastOfFormula = 0.8;  // of the bubble that a schedule must have: less, and it is another
constexpr int64_t kMostPasses = 4'000'000;

// The times of one rank, over what was recorded.
struct RankTimes {
  double flushes = 0;
  double window_ns = 0, bubble_ns = 0, hop_ns = 0, host_ns = 0;
  double passes_ns = -1;  // per flush, from the first message to the last; -1: not known
  double work_ns = 0;     // per flush

  double late_ns = 0;  // its host let it idle for longer than others'

  double busy_per_flush() const { return (window_ns - bubble_ns - hop_ns - late_ns) / flushes; }
};

// From the first message that came until the last was sent; -1: no round is whole.
double passes_per_flush(const ReplayPlan& plan, const PipelineRank& rank, const PipelineWaits& waits) {
  const JobView& view = plan.view;
  const RankLine& line = plan.lines[rank.trace.index()];
  if (rank.rounds.empty()) return -1;
  int64_t work = 0;
  for (const MessageRound& round : rank.rounds) {
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (size_t e = round.first; e < round.end; ++e) {
      const uint32_t row = rank.events[e].row;
      if (rank.events[e].sends) {
        to = std::max(to, line.forks[static_cast<size_t>(plan.fork_of_row[row])].at_ns);
      } else {
        from = std::min(from, view.end(row).ns);
      }
    }
    work += std::max<int64_t>(0, to - from - waits.waits.within(from, to) - waits.hops.within(from, to));
  }
  return static_cast<double>(work) / static_cast<double>(rank.rounds.size());
}

RankTimes times_of(const ReplayPlan& plan, const PipelineRank& rank, const std::vector<PipelineCall>& calls) {
  const RankLine& line = plan.lines[rank.trace.index()];
  const PipelineWaits waits = pipeline_waits(plan, rank.trace, calls);
  RankTimes times;
  times.flushes = rank.flushes;
  times.window_ns = static_cast<double>(line.last_ns - line.first_ns);
  times.bubble_ns = static_cast<double>(waits.waits.within(line.first_ns, line.last_ns));
  times.hop_ns = static_cast<double>(waits.hops.within(line.first_ns, line.last_ns));
  times.host_ns = static_cast<double>(waits.host_ns);
  times.passes_ns = passes_per_flush(plan, rank, waits);
  return times;
}

// `values` are not empty.
double lower_middle_of(std::vector<double> values) { return take_nth(values, (values.size() - 1) / 2); }

// What ranks spend outside their passes, per flush; -1: not known.
double outside_passes(const std::vector<RankTimes>& ranks) {
  std::vector<double> outside;
  for (size_t k = 1; k < ranks.size(); ++k) {
    if (ranks[k].passes_ns >= 0) outside.push_back(ranks[k].busy_per_flush() - ranks[k].passes_ns);
  }
  return outside.empty() ? -1 : std::max(0.0, lower_middle_of(std::move(outside)));
}

bool most_are_split(const ReplayPlan& plan, const PipelineShape& shape) {
  size_t split = 0, all = 0;
  for (const auto& pipeline : shape.pipelines) {
    for (const PipelineRank& rank : pipeline) {
      for (const MessageEvent& event : rank.events) {
        const auto id = static_cast<size_t>(plan.view.instance_of_row[event.row]);
        split += plan.view.d.instances[id].reason == SplitReason::split ? 1 : 0;
        ++all;
      }
    }
  }
  return static_cast<double>(split) >= kLeastSplit * static_cast<double>(all);
}

using TimesByPipeline = std::vector<std::vector<RankTimes>>;  // [pipeline][position]

// A host that launches later than that of the rank in the middle is late, and none of its stage's work.
void set_late(TimesByPipeline& times) {
  std::vector<double> hosts;
  for (const auto& ranks : times) {
    for (const RankTimes& rank : ranks) hosts.push_back(rank.host_ns / rank.flushes);
  }
  const double usual = lower_middle_of(std::move(hosts));
  for (auto& ranks : times) {
    for (RankTimes& rank : ranks) rank.late_ns = std::max(0.0, rank.host_ns - usual * rank.flushes);
  }
}

// `outside_ns`: what ranks spend outside their passes. What a late host took may have been more than idling; a stage
// works as long as its passes take all the same, or as the others' do.
void set_work(double outside_ns, TimesByPipeline& times) {
  std::vector<double> works;
  for (const auto& ranks : times) {
    for (const RankTimes& rank : ranks) works.push_back(rank.busy_per_flush() - outside_ns);
  }
  const double usual = std::max(0.0, lower_middle_of(std::move(works)));
  for (auto& ranks : times) {
    for (RankTimes& rank : ranks) {
      const double least = rank.passes_ns < 0 ? usual : std::min(usual, rank.passes_ns);
      const double work = std::max(0.0, rank.busy_per_flush() - outside_ns);
      rank.work_ns = rank.late_ns > 0 ? std::max(work, least) : work;
    }
  }
}

// None where the work of no rank is known.
TimesByPipeline times_by_pipeline(const ReplayPlan& plan, const PipelineShape& shape) {
  std::vector<int32_t> stage(plan.view.job.traces.size(), -1);
  for (const auto& pipeline : shape.pipelines) {
    for (size_t k = 0; k < pipeline.size(); ++k) stage[pipeline[k].trace.index()] = static_cast<int32_t>(k);
  }
  const std::vector<PipelineCall> calls = pipeline_calls(plan, stage);
  TimesByPipeline times(shape.pipelines.size());
  tbb::parallel_for(size_t{0}, times.size(), [&](size_t p) {
    for (const PipelineRank& rank : shape.pipelines[p]) times[p].push_back(times_of(plan, rank, calls));
  });
  set_late(times);
  std::vector<double> known;
  for (const auto& ranks : times) {
    if (const double outside = outside_passes(ranks); outside >= 0) known.push_back(outside);
  }
  if (known.empty()) return {};
  set_work(lower_middle_of(std::move(known)), times);
  return times;
}

std::vector<Pipeline::Stage> stages_of(const ReplayPlan& plan, const PipelineShape& shape) {
  std::vector<Pipeline::Stage> stages(static_cast<size_t>(shape.plan.ranks));
  for (size_t k = 0; k < stages.size(); ++k) {
    std::vector<Rank>& ranks = stages[k].ranks;
    for (const auto& pipeline : shape.pipelines) ranks.push_back(plan.view.job[pipeline[k].trace].rank);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  }
  return stages;
}

// Per stage the work of its rank in the middle, per flush.
std::vector<double> work_by_stage(const TimesByPipeline& times) {
  std::vector<double> work;
  for (size_t k = 0; k < times.front().size(); ++k) {
    std::vector<double> of_stage;
    for (const auto& ranks : times) of_stage.push_back(ranks[k].work_ns);
    work.push_back(lower_middle_of(std::move(of_stage)));
  }
  return work;
}

void set_stage_times(const TimesByPipeline& times, std::vector<Pipeline::Stage>& stages) {
  const auto count = static_cast<double>(times.size());
  const std::vector<double> work = work_by_stage(times);
  for (size_t k = 0; k < stages.size(); ++k) {
    double flushes = 0, bubble = 0;
    for (const auto& ranks : times) {
      flushes += ranks[k].flushes / count;
      bubble += ranks[k].bubble_ns / count;
    }
    stages[k].work_ns = std::llround(work[k] * flushes);
    stages[k].bubble_ns = std::llround(bubble);
  }
}

// Per rank and flush; what the stages' lengths make, evenly divided and as they are.
struct PlayedWaits {
  double even = 0, uneven = 0;
};
PlayedWaits played(const PipelinePlan& plan, const std::vector<double>& work) {
  const double mean = std::accumulate(work.begin(), work.end(), 0.0) / static_cast<double>(work.size());
  PlayedWaits waits;
  waits.even = waits.uneven = even_wait_ns(plan, mean);
  if (plan.passes() > kMostPasses) return waits;
  const double even = mean_wait_ns(plan, std::vector<double>(work.size(), mean)), uneven = mean_wait_ns(plan, work);
  if (even >= 0 && uneven >= even) waits.uneven += uneven - even;
  return waits;
}

void set_parts(const PipelinePlan& plan, const TimesByPipeline& times, Pipeline& out) {
  double window = 0, bubble = 0, flushes = 0;
  for (const auto& ranks : times) {
    for (const RankTimes& rank : ranks) {
      window += rank.window_ns;
      bubble += rank.bubble_ns;
      flushes += rank.flushes;
    }
  }
  out.window_ns = std::llround(window);
  out.bubble_ns = std::llround(bubble);
  const std::vector<double> work = work_by_stage(times);
  const PlayedWaits now = played(plan, work);
  if (now.even * flushes * kLeastOfFormula > bubble) {
    out.schedule = PipelineSchedule::zero_bubble;
    return;
  }
  out.schedule_ns = std::llround(std::min(bubble, now.even * flushes));
  out.imbalance_ns =
      std::llround(std::min(bubble - static_cast<double>(out.schedule_ns), (now.uneven - now.even) * flushes));
  PipelinePlan twice = plan;
  twice.micro_batches *= 2;
  const PlayedWaits then = played(twice, work);
  const auto explained = static_cast<double>(out.schedule_ns + out.imbalance_ns);
  const double left = now.uneven > 0 ? std::min(1.0, then.uneven / now.uneven) : 1;
  out.twice_ns = std::llround(bubble - explained * (1 - left));
}

}  // namespace

Pipeline find_pipeline(const ReplayPlan& plan, int32_t island) {
  Pipeline out;
  if (plan.islands[static_cast<size_t>(island)].traces.size() < 2) return out;
  const std::optional<PipelineShape> shape = pipeline_shape(plan, island);
  if (!shape) return out;
  out.micro_batches = shape->plan.micro_batches;
  out.virtual_stages = shape->plan.virtual_stages;
  out.schedule = shape->plan.schedule;
  out.stages = stages_of(plan, *shape);
  if (!most_are_split(plan, *shape)) return out;
  const TimesByPipeline times = times_by_pipeline(plan, *shape);
  if (times.empty()) return out;
  set_stage_times(times, out.stages);
  set_parts(shape->plan, times, out);
  return out;
}

}  // namespace skewscope::blame
