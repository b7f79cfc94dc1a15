#include "step_rows.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <tuple>

#include "skewscope/model/clock_components.h"

namespace skewscope::report {

namespace {

// ProfilerStep#N of one host.
struct HostWindow {
  int64_t step = 0;
  LocalNs start, end;
};

// By number; ranges of one number are one.
std::vector<HostWindow> host_windows(const RankTrace& trace) {
  std::vector<HostWindow> windows;
  for (const StepRange& range : trace.steps) {
    windows.push_back({range.number, range.start, range.start + range.duration_ns});
  }
  std::stable_sort(windows.begin(), windows.end(),
                   [](const HostWindow& a, const HostWindow& b) { return a.step < b.step; });
  size_t kept = 0;
  for (const HostWindow& window : windows) {
    if (kept > 0 && windows[kept - 1].step == window.step) {
      windows[kept - 1].end = std::max(windows[kept - 1].end, window.end);
    } else {
      windows[kept++] = window;
    }
  }
  windows.resize(kept);
  return windows;
}

template <class Row>
void set_parts(Row& row, const StepParts& parts) {
  row.compute_ns = parts.compute_ns;
  row.exposed_transfer_ns = parts.exposed_transfer_ns;
  row.exposed_wait_ns = parts.exposed_wait_ns;
  row.exposed_unattributed_ns = parts.exposed_unattributed_ns;
  row.exposed_memcpy_ns = parts.exposed_memcpy_ns;
  row.idle_ns = parts.idle_ns;
}

// What blocked the ranks of a step, by session and number.
std::map<std::pair<SessionId, int64_t>, BlockedParts> blocked_in_steps(const Sources& sources,
                                                                       const std::vector<bool>& measured) {
  std::map<std::pair<SessionId, int64_t>, BlockedParts> blocked;
  for (size_t row = 0; row < sources.blame.steps.size(); ++row) {
    const TraceStep& own = sources.decomposition.trace_steps[row];
    if (measured[own.trace.index()]) blocked[{sources.job[own.trace].session, own.number}] += sources.blame.steps[row];
  }
  return blocked;
}

std::vector<JobReport::StepRow> rows_of_steps(const Sources& sources, const std::vector<bool>& measured,
                                              const std::vector<JobStep>& steps) {
  auto blocked = blocked_in_steps(sources, measured);
  std::vector<JobReport::StepRow> rows;
  for (const JobStep& step : steps) {
    JobReport::StepRow& row = rows.emplace_back();
    row.session = step.session.value;
    row.step = step.number;
    row.start_ns = step.start.ns - sources.clocks.reference_ns;
    row.duration_ns = step.duration_ns;
    row.ranks = step.traces;
    row.gpu_rows = step.rows;
    row.collectives = step.calls;
    row.host_start_ns = step.host_start.ns - sources.clocks.reference_ns;
    row.host_duration_ns = step.host_duration_ns;
    const BlockedParts& parts = blocked[{step.session, step.number}];
    row.blocking_wait_ns = parts.wait_ns;
    row.blocking_transfer_ns = parts.transfer_ns;
    row.blocking_unattributed_ns = parts.unattributed_ns;
    row.blocked_by = blocked_by(parts);
  }
  return rows;
}

}  // namespace

std::vector<JobReport::StepRow> step_rows(const Sources& sources) {
  const std::vector<bool> measured = in_longest_component(sources.job, sources.clocks);
  std::vector<JobReport::StepRow> rows = rows_of_steps(sources, measured, sources.decomposition.steps);
  // Steps that only ranks recorded whose clocks nobody compared with these are none of theirs.
  rows.erase(std::remove_if(rows.begin(), rows.end(), [](const auto& row) { return row.ranks == 0; }), rows.end());
  return rows;
}

std::vector<JobReport::StepRow> step_rows_of(const Sources& sources, const std::vector<TraceIndex>& traces,
                                             const std::vector<JobStep>& steps) {
  std::vector<bool> measured(sources.job.traces.size(), false);
  for (const TraceIndex trace : traces) measured[trace.index()] = true;
  return rows_of_steps(sources, measured, steps);
}

std::vector<JobReport::RankStep> rank_steps(const Sources& sources) {
  const Decomposition& d = sources.decomposition;
  std::vector<std::vector<HostWindow>> windows(sources.job.traces.size());
  tbb::parallel_for(size_t{0}, windows.size(), [&](size_t t) { windows[t] = host_windows(sources.job.traces[t]); });
  std::vector<JobReport::RankStep> rows(d.trace_steps.size());
  tbb::parallel_for(size_t{0}, rows.size(), [&](size_t i) {
    const TraceStep& own = d.trace_steps[i];
    JobReport::RankStep& row = rows[i];
    row.rank = sources.job[own.trace].rank.value;
    row.session = sources.job[own.trace].session.value;
    row.step = d.steps[static_cast<size_t>(own.step)].number;
    set_parts(row, own.parts);
    row.start_ns = sources.clocks.to_job(own.trace, own.begin).ns - sources.clocks.reference_ns;
    row.gpu_rows = own.rows;
    row.collectives = own.calls;
    const std::vector<HostWindow>& own_windows = windows[own.trace.index()];
    const auto window = std::lower_bound(own_windows.begin(), own_windows.end(), row.step,
                                         [](const HostWindow& w, int64_t step) { return w.step < step; });
    assert(window != own_windows.end() && window->step == row.step);
    row.host_start_ns = sources.clocks.to_job(own.trace, window->start).ns - sources.clocks.reference_ns;
    row.host_duration_ns = window->end - window->start;
    row.host_launch_ns = own.host_launch_ns;
    row.host_wait_ns = own.host_wait_ns;
  });
  return rows;
}

std::vector<JobReport::OutsideSteps> outside_steps(const Sources& sources) {
  std::vector<JobReport::OutsideSteps> rows;
  for (const TraceRest& rest : sources.decomposition.trace_rests) {
    JobReport::OutsideSteps& row = rows.emplace_back();
    row.rank = sources.job[rest.trace].rank.value;
    row.session = sources.job[rest.trace].session.value;
    row.place = to_string(rest.place);
    row.gpu_rows = rest.rows;
    set_parts(row, rest.parts);
  }
  return rows;
}

std::vector<JobReport::CollectiveStep> collective_steps(const Sources& sources) {
  std::map<std::tuple<int32_t, CollectiveKind, DType, int64_t, int32_t, int64_t>, JobReport::CollectiveStep> sums;
  for (size_t i = 0; i < sources.instances.instances.size(); ++i) {
    const InstanceView view(sources, i);
    const CollectiveInstance& c = view.instance;
    if (!view.split()) continue;
    for (size_t m = 0; m < view.size(); ++m) {
      const int64_t step = view.call(m).step;
      if (step < 0) continue;
      JobReport::CollectiveStep& sum = sums[{c.communicator.value, c.kind, c.dtype, c.bytes, c.session.value, step}];
      const CallParts& parts = view.parts(m);
      ++sum.calls;
      sum.wait_ns += parts.wait_ns;
      sum.transfer_ns += parts.transfer_ns;
      sum.exposed_wait_ns += parts.exposed_wait_ns;
      sum.exposed_transfer_ns += parts.exposed_transfer_ns;
    }
  }
  std::vector<JobReport::CollectiveStep> rows;
  rows.reserve(sums.size());
  for (auto& [key, row] : sums) {
    row.communicator = std::get<0>(key);
    row.op = std::get<1>(key);
    row.dtype = to_string(std::get<2>(key));
    row.bytes = std::get<3>(key);
    row.session = std::get<4>(key);
    row.step = std::get<5>(key);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace skewscope::report

namespace skewscope {

int64_t mean_step_ns(const JobReport& report) {
  const auto steps = whole_steps(report);
  int64_t sum_ns = 0;
  for (const JobReport::StepRow* step : steps) sum_ns += step->duration_ns;
  return steps.empty() ? 0 : sum_ns / std::ssize(steps);
}

}  // namespace skewscope
