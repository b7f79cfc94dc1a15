// Problem: figures of a whole job have no spread, and without one nobody can say whether a difference between two runs
// means anything. A step is the job's natural repetition.
// Idea: a rank's own step is what was launched in it, as it ran on its GPU (model/step_spans); of a job without a GPU,
// what its hosts ran. The job's step ends when the last rank ends it, on the common clock. A rank's own step ends when
// that rank ends it: what it does from then on belongs to the next one, though others are not there yet. Both are cut
// end to end, so that steps that follow one another leave nothing out, and each GPU's time between two cuts is
// labelled. What of a GPU's window is in no step is labelled the same way: with it, the steps of a rank sum to its
// window. Labels: computing hides transfer, transfer hides waiting (while bytes move, nobody is only waiting), waiting
// hides calls whose time is not split, these hide copies; what is left is idle. As RankSummary: copies are exposed
// where neither computation nor communication runs. Cost: a sort of the calls' and copies' edges; computing rows are
// looked up in their union, O(log n) per span.
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

bool has_gpu_rows(const RankTrace& trace) { return trace.device >= 0 || trace.gpu.size() > 0; }

// The hosts' windows of a step, of all that launched something in it or not.
void add_host_windows(const JobTrace& job, const ClockModel& clocks, const std::vector<bool>& measured,
                      std::vector<JobStep>& steps) {
  std::vector<JobNs> ends(steps.size(), JobNs{INT64_MIN});
  for (JobStep& step : steps) step.host_start = JobNs{INT64_MAX};
  for (size_t t = 0; t < job.traces.size(); ++t) {
    if (!measured[t]) continue;
    const TraceIndex trace(static_cast<int64_t>(t));
    for (const StepRange& range : job[trace].steps) {
      const auto key = std::tie(job[trace].session, range.number);
      const auto step = std::lower_bound(steps.begin(), steps.end(), key, [](const JobStep& s, const auto& wanted) {
        return std::tie(s.session, s.number) < wanted;
      });
      if (step == steps.end() || std::tie(step->session, step->number) != key) continue;
      JobNs& end = ends[static_cast<size_t>(step - steps.begin())];
      step->host_start = std::min(step->host_start, clocks.to_job(trace, range.start));
      end = std::max(end, clocks.to_job(trace, range.start + range.duration_ns));
    }
  }
  for (size_t s = 0; s < steps.size(); ++s) {
    if (ends[s] < steps[s].host_start) steps[s].host_start = ends[s] = steps[s].start;  // only others recorded it
    steps[s].host_duration_ns = ends[s] - steps[s].host_start;
  }
}

enum class Rows : uint8_t { of_all, of_measured };

// From sorted steps of traces; lengths and counts are those of the measured traces.
std::vector<JobStep> lay_out(const JobTrace& job, const ClockModel& clocks, const std::vector<TraceStep>& trace_steps,
                             const std::vector<bool>& measured, Rows rows) {
  std::vector<JobStep> steps;
  JobNs last_begin, last_end;  // of the step that is being laid out
  const auto finish = [&] {
    if (steps.empty()) return;
    JobStep& step = steps.back();
    const JobStep* const before = steps.size() > 1 ? &steps[steps.size() - 2] : nullptr;
    const bool follows = before != nullptr && before->session == step.session && before->number + 1 == step.number;
    const bool seen = last_end.ns != INT64_MIN;  // else only ranks recorded it whose clocks nobody compared
    step.start = follows ? before->start + before->duration_ns : seen ? last_begin : JobNs{clocks.reference_ns};
    if (!seen) return;
    step.duration_ns = std::max<int64_t>(0, last_end - step.start);
  };
  for (const TraceStep& own : trace_steps) {
    const bool counts = measured[own.trace.index()];
    if (!counts && rows == Rows::of_measured) continue;
    const SessionId session = job[own.trace].session;
    if (steps.empty() || steps.back().session != session || steps.back().number != own.number) {
      finish();
      JobStep step;
      step.session = session;
      step.number = own.number;
      steps.push_back(step);
      last_begin = last_end = JobNs{INT64_MIN};
    }
    if (!counts) continue;
    JobStep& step = steps.back();
    ++step.traces;
    step.rows += own.rows;
    step.calls += own.calls;
    last_begin = std::max(last_begin, clocks.to_job(own.trace, own.begin));
    last_end = std::max(last_end, clocks.to_job(own.trace, own.end()));
  }
  finish();
  add_host_windows(job, clocks, measured, steps);
  return steps;
}

}  // namespace

StepBasis step_basis(const JobTrace& job) {
  const auto has_steps = [](const RankTrace& trace) { return !trace.steps.empty(); };
  if (std::none_of(job.traces.begin(), job.traces.end(), has_steps)) return StepBasis::none;
  return std::any_of(job.traces.begin(), job.traces.end(), has_gpu_rows) ? StepBasis::gpu : StepBasis::host;
}

std::vector<JobStep> steps_of(const JobTrace& job, const ClockModel& clocks, std::vector<TraceStep>& trace_steps) {
  std::sort(trace_steps.begin(), trace_steps.end(), [&](const TraceStep& a, const TraceStep& b) {
    return std::tie(job[a.trace].session, a.number, a.trace) < std::tie(job[b.trace].session, b.number, b.trace);
  });
  std::vector<JobStep> steps = lay_out(job, clocks, trace_steps, in_longest_component(job, clocks), Rows::of_all);
  size_t row = 0;
  for (TraceStep& own : trace_steps) {
    while (steps[row].session != job[own.trace].session || steps[row].number != own.number) ++row;
    own.step = static_cast<int32_t>(row);
  }
  return steps;
}

std::vector<std::vector<JobStep>> steps_of_islands(const JobTrace& job, const ClockModel& clocks,
                                                   const std::vector<TraceStep>& trace_steps) {
  const std::vector<ClockIsland> islands = islands_of(job, clocks);
  std::vector<std::vector<JobStep>> steps;
  for (size_t i = 0; islands.size() > 1 && i < islands.size(); ++i) {
    steps.emplace_back();
    if (islands[i].traces.size() < 2) continue;
    std::vector<bool> measured(job.traces.size(), false);
    for (const TraceIndex trace : islands[i].traces) measured[trace.index()] = true;
    steps.back() = lay_out(job, clocks, trace_steps, measured, Rows::of_measured);
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

TraceStep StepLabels::step(TraceIndex trace, const StepSpan& span) const {
  TraceStep step;
  step.trace = trace;
  step.number = span.number;
  step.begin = span.begin;
  step.parts = between(span.begin, span.end);
  step.rows = static_cast<int32_t>(span.rows);
  step.calls = static_cast<int32_t>(span.calls);
  step.host_launch_ns = span.host_launch_ns;
  step.host_wait_ns = span.host_wait_ns;
  return step;
}

std::vector<TraceRest> StepLabels::rests(TraceIndex trace, const std::vector<StepSpan>& spans) const {
  std::map<StepPlace, TraceRest> by_place;
  for (const StepSpan& span : spans) {
    if (span.place == StepPlace::step) continue;
    TraceRest& rest = by_place[span.place];
    rest.trace = trace;
    rest.place = span.place;
    rest.rows += span.rows;
    rest.parts += between(span.begin, span.end);
  }
  std::vector<TraceRest> rests;
  for (const auto& [place, rest] : by_place) rests.push_back(rest);
  return rests;
}

}  // namespace skewscope::attribute
