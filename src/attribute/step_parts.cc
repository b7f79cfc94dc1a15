// Problem: figures of a whole job have no spread, and without one nobody can say whether a difference between two runs
// means anything. A step is the job's natural repetition.
// Idea: the job's step ends when the last rank ends it, on the common clock. A rank's own step ends when that rank ends
// it: what it does from then on belongs to the next one, though others are not there yet. Both are cut end to end, so
// that steps that follow one another leave nothing out, and each GPU's time between two cuts is labelled.
// Labels: computing hides transfer, transfer hides waiting (while bytes move, nobody is only waiting), waiting hides
// calls whose time is not told apart, these hide copies; what is left is idle. As RankSummary: copies are exposed where
// neither computation nor communication runs.
// Cost: a sort of the calls' and copies' edges; computing rows are looked up in their union, O(log n) per span.
#include "step_parts.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "skewscope/base/sort_runs.h"
#include "skewscope/model/clock_components.h"

namespace skewscope::attribute {
namespace {

constexpr std::array kHidden = {&StepParts::exposed_transfer_ns, &StepParts::exposed_wait_ns,
                                &StepParts::exposed_unattributed_ns, &StepParts::exposed_memcpy_ns};
constexpr int32_t kNothing = -1, kTransfer = 0, kWait = 1, kUnattributed = 2, kCopy = 3;

void add(int64_t from, int64_t length, int32_t label, std::vector<LabelEdge>& edges) {
  if (length <= 0) return;
  edges.push_back({from, 1, label});
  edges.push_back({from + length, -1, label});
}

struct StepBounds {
  JobNs last_begin{INT64_MIN}, last_end{INT64_MIN};
  int32_t traces = 0;
};

}  // namespace

std::vector<JobStep> steps_of(const JobTrace& job, const ClockModel& clocks) {
  const std::vector<bool> measured = in_longest_component(job, clocks);
  std::map<std::tuple<int32_t, int64_t>, StepBounds> bounds;
  for (size_t t = 0; t < job.traces.size(); ++t) {
    const TraceIndex trace(static_cast<int64_t>(t));
    for (const OwnStep& step : own_steps(job[trace])) {
      StepBounds& b = bounds[{job[trace].session.value, step.number}];
      ++b.traces;
      if (!measured[t]) continue;
      b.last_begin = std::max(b.last_begin, clocks.to_job(trace, step.begin));
      b.last_end = std::max(b.last_end, clocks.to_job(trace, step.end));
    }
  }
  std::vector<JobStep> steps;
  for (const auto& [key, b] : bounds) {
    if (b.last_begin > b.last_end) continue;  // only others recorded it
    JobStep step;
    step.session = SessionId(std::get<0>(key));
    step.number = std::get<1>(key);
    step.start = b.last_begin;
    if (!steps.empty() && steps.back().session == step.session && steps.back().number + 1 == step.number) {
      step.start = steps.back().start + steps.back().duration_ns;
    }
    step.duration_ns = std::max<int64_t>(0, b.last_end - step.start);
    step.traces = b.traces;
    steps.push_back(step);
  }
  return steps;
}

std::vector<OwnStep> own_steps(const RankTrace& trace) {
  std::map<int64_t, OwnStep> by_number;
  for (const StepRange& step : trace.steps) {
    OwnStep& own = by_number.try_emplace(step.number, OwnStep{step.number, step.start, step.start}).first->second;
    own.end = std::max(own.end, step.start + step.duration_ns);
  }
  std::vector<OwnStep> steps;
  for (const auto& [number, step] : by_number) {
    steps.push_back(step);
    if (steps.size() < 2) continue;
    const OwnStep& before = steps[steps.size() - 2];
    if (before.number + 1 == number) steps.back().begin = before.end;
    steps.back().end = std::max(steps.back().end, steps.back().begin);
  }
  return steps;
}

std::vector<LabelEdge> copy_edges(const GpuEvents& gpu, size_t calls) {
  constexpr size_t kEdges = 2, kEdgesOfCall = 4;  // wait and transfer
  const auto copies = static_cast<size_t>(std::count(gpu.work.begin(), gpu.work.end(), GpuWork::memcpy));
  std::vector<LabelEdge> edges;
  edges.reserve(kEdges * copies + kEdgesOfCall * calls);
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (gpu.work[i] == GpuWork::memcpy) add(gpu.start[i].ns, gpu.duration_ns[i], kCopy, edges);
  }
  return edges;
}

void add_edges(LocalNs start, const CallParts& parts, std::vector<LabelEdge>& edges) {
  add(start.ns, parts.wait_ns, kWait, edges);
  add(start.ns + parts.wait_ns, parts.transfer_ns, kTransfer, edges);
  add(start.ns, parts.unattributed_ns, kUnattributed, edges);
}

StepLabels::StepLabels(std::vector<LabelEdge> edges, const BusyIntervals& busy)
    : busy_(busy), edges_(std::move(edges)) {
  sort_runs(edges_, [](const LabelEdge& a, const LabelEdge& b) { return a.ns < b.ns; });
  std::array<int32_t, kHidden.size()> running{};
  size_t kept = 0;  // in place: of a large trace, edges are megabytes
  for (size_t i = 0; i < edges_.size();) {
    const int64_t now = edges_[i].ns;
    for (; i < edges_.size() && edges_[i].ns == now; ++i) {
      running[static_cast<size_t>(edges_[i].label)] += edges_[i].change;
    }
    const auto first = std::find_if(running.begin(), running.end(), [](int32_t n) { return n > 0; });
    const auto label = first == running.end() ? kNothing : static_cast<int32_t>(first - running.begin());
    if (kept == 0 || edges_[kept - 1].label != label) edges_[kept++] = {now, 0, label};
  }
  edges_.resize(kept);
}

StepParts StepLabels::between(LocalNs begin, LocalNs end) const {
  StepParts parts;
  if (end <= begin) return parts;
  parts.compute_ns = busy_.covered_ns(begin, end);
  auto edge = std::upper_bound(edges_.begin(), edges_.end(), begin.ns,
                               [](int64_t ns, const LabelEdge& e) { return ns < e.ns; });
  if (edge != edges_.begin()) --edge;
  BusyIntervals::InOrder busy(busy_);
  for (; edge != edges_.end() && edge->ns < end.ns; ++edge) {
    if (edge->label == kNothing) continue;  // so is the last one: there is a next one below
    const LocalNs from{std::max(edge->ns, begin.ns)}, to{std::min((edge + 1)->ns, end.ns)};
    parts.*kHidden[static_cast<size_t>(edge->label)] += (to - from) - busy.covered_ns(from, to);
  }
  parts.idle_ns = (end - begin) - parts.sum_ns();
  return parts;
}

}  // namespace skewscope::attribute
