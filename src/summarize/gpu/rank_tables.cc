// Devices, steps, launches and names: each table is one pass over rows that are sorted by start, after they were dealt
// out by what the table is about.
#include "rank_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "gpu_timeline.h"
#include "kernel_library.h"
#include "profiler_work.h"
#include "shares.h"
#include "spread.h"

namespace skewscope::summarize {
namespace {

// HTA's thresholds.
constexpr int64_t kSlowCallNs = 50'000, kLateStartNs = 100'000;

using Rows = std::vector<int32_t>;

template <class Key, class KeyOf>
std::map<Key, Rows> deal_out(size_t rows, const KeyOf& key_of) {
  std::map<Key, Rows> dealt;
  for (size_t i = 0; i < rows; ++i) dealt[key_of(i)].push_back(static_cast<int32_t>(i));
  return dealt;
}

}  // namespace

void add_devices(const RankTrace& trace, std::vector<TimelineRow>& timeline) {
  const GpuEvents& gpu = trace.gpu;
  const auto rows = deal_out<int32_t>(gpu.size(), [&](size_t i) { return gpu.device[i]; });
  if (rows.size() < 2) return;
  for (const auto& [device, own] : rows) {
    TimelineRow& row = timeline.emplace_back();
    row.device = device;
    row.gpu_rows = static_cast<int64_t>(own.size());
    row.timeline = timeline_of(trace, own);
  }
}

std::vector<std::vector<int32_t>> rows_by_step(const RankTrace& trace) {
  // Steps are sorted by start and do not overlap: the last that began before a launch holds it, or none does.
  std::vector<Rows> rows(trace.steps.size());
  for (size_t i = 0; i < trace.gpu.size(); ++i) {
    if (trace.gpu.launch[i] < 0) continue;
    const LocalNs launched = trace.launches.start[static_cast<size_t>(trace.gpu.launch[i])];
    const auto after = std::upper_bound(trace.steps.begin(), trace.steps.end(), launched,
                                        [](LocalNs t, const StepRange& step) { return t < step.start; });
    if (after == trace.steps.begin()) continue;
    const auto step = static_cast<size_t>(after - trace.steps.begin()) - 1;
    if (launched < trace.steps[step].start + trace.steps[step].duration_ns)
      rows[step].push_back(static_cast<int32_t>(i));
  }
  return rows;
}

namespace {

// Visits spans that lie end to end, each with the rows and the host's calls that run in it.
template <class Visit>
void for_each_span(const RankTrace& trace, const std::vector<StepSpan>& spans, const Visit& visit) {
  const GpuEvents& gpu = trace.gpu;
  const std::vector<int32_t> host_calls = calls_beside_gpu(trace);
  const auto call = [&](int32_t c) -> const CollectiveCall& { return trace.calls[static_cast<size_t>(c)]; };
  Rows running, calls;
  size_t next = 0, next_call = 0;
  for (const StepSpan& span : spans) {
    for (; next < gpu.size() && gpu.start[next] < span.end; ++next) running.push_back(static_cast<int32_t>(next));
    for (; next_call < host_calls.size() && call(host_calls[next_call]).start < span.end; ++next_call) {
      calls.push_back(host_calls[next_call]);
    }
    visit(span, running, calls);
    std::erase_if(running, [&](int32_t row) {
      const auto i = static_cast<size_t>(row);
      return gpu.start[i] + gpu.duration_ns[i] <= span.end;
    });
    std::erase_if(calls, [&](int32_t c) { return call(c).end() <= span.end; });
  }
}

}  // namespace

std::vector<RankSummary> timelines_of(const RankTrace& trace, const std::vector<StepSpan>& spans) {
  std::vector<RankSummary> parts;
  for_each_span(trace, spans, [&](const StepSpan& span, const Rows& running, const Rows& host_calls) {
    parts.push_back(timeline_between(trace, running, host_calls, span.begin, span.end));
  });
  return parts;
}

void add_steps(const RankTrace& trace, std::vector<TimelineRow>& timeline) {
  const auto row_of = [](const StepSpan& span) {
    TimelineRow row;
    row.place = span.place;
    row.step = span.number;
    row.host_ns = span.place == StepPlace::step ? span.host_ns : -1;
    row.gpu_rows = span.rows;
    return row;
  };
  if (trace.gpu.size() == 0) {
    for (const StepSpan& span : host_step_spans(trace)) timeline.push_back(row_of(span));
    return;
  }
  const std::vector<StepSpan> spans = step_spans(trace);
  const std::vector<RankSummary> parts = timelines_of(trace, spans);
  for (size_t s = 0; s < spans.size(); ++s) {
    timeline.push_back(row_of(spans[s]));
    timeline.back().timeline = parts[s];
  }
  std::set<int64_t> launched;
  for (const StepSpan& span : spans) launched.insert(span.number);
  for (const StepSpan& span : host_step_spans(trace)) {
    if (!launched.contains(span.number)) timeline.push_back(row_of(span));
  }
}

std::vector<WorkTogether> work_together(const RankTrace& trace) {
  std::vector<WorkTogether> together;
  const TimeBySet time = time_by_set(trace);
  for (size_t set = 1; set < time.ns.size(); ++set) {
    const auto has = [set](GpuWork work) { return (set & set_of(work)) != 0; };
    if (time.ns[set] == 0) continue;
    together.push_back(
        {has(GpuWork::compute), has(GpuWork::communication), has(GpuWork::memcpy), has(GpuWork::memset), time.ns[set]});
  }
  std::stable_sort(together.begin(), together.end(),
                   [](const WorkTogether& a, const WorkTogether& b) { return a.time_ns > b.time_ns; });
  return together;
}

LaunchTotals launch_totals(const RankTrace& trace) {
  LaunchTotals totals;
  for (size_t i = 0; i < trace.gpu.size(); ++i) {
    if (trace.gpu.launch[i] < 0) continue;
    const auto launch = static_cast<size_t>(trace.gpu.launch[i]);
    const int64_t call_ns = trace.launches.duration_ns[launch], row_ns = trace.gpu.duration_ns[i];
    const int64_t delay_ns = std::max<int64_t>(0, trace.gpu.start[i] - (trace.launches.start[launch] + call_ns));
    ++totals.rows;
    totals.host_ns += call_ns;
    totals.gpu_ns += row_ns;
    totals.delay_ns += delay_ns;
    totals.longest_delay_ns = std::max(totals.longest_delay_ns, delay_ns);
    if (call_ns <= kSlowCallNs && row_ns < call_ns) ++totals.short_rows;
    if (call_ns > kSlowCallNs) ++totals.slow_calls;
    if (delay_ns > kLateStartNs) ++totals.late_starts;
    const LocalNs returned = trace.launches.start[launch] + call_ns;
    if (trace.gpu.start[i] + row_ns < returned) ++totals.covered_rows;
  }
  return totals;
}

void add_profiler_work(const RankTrace& trace, const HostEvents& host, const StringTable& strings, RankTables& tables) {
  const ProfilerBuffers buffers(host, strings);
  LaunchTotals& launches = tables.launches;
  launches.profiler_rows = launches.profiler_delay_ns = 0;
  tables.timeline.front().profiler_idle_ns = 0;
  const std::vector<StepSpan> spans = trace.gpu.size() == 0 ? std::vector<StepSpan>() : step_spans(trace);
  for (TimelineRow& row : tables.timeline) {
    if (row.step >= 0 && row.timeline.total_ns > 0) row.profiler_idle_ns = 0;
  }
  if (buffers.empty()) return;
  for (size_t i = 0; i < trace.gpu.size(); ++i) {
    if (trace.gpu.launch[i] < 0) continue;
    const auto launch = static_cast<size_t>(trace.gpu.launch[i]);
    const LocalNs returned = trace.launches.start[launch] + trace.launches.duration_ns[launch];
    const int64_t ns = trace.gpu.start[i] <= returned ? 0 : buffers.covered_ns(returned, trace.gpu.start[i]);
    launches.profiler_rows += ns > 0 ? 1 : 0;
    launches.profiler_delay_ns += ns;
  }
  std::map<int64_t, TimelineRow*> rows;
  for (TimelineRow& row : tables.timeline) {
    if (row.step >= 0) rows[row.step] = &row;
  }
  for (const IdleGap& gap : idle_gaps(trace)) {
    const int64_t of_gap_ns = buffers.covered_ns(gap.begin, gap.end);
    if (of_gap_ns == 0) continue;
    tables.timeline.front().profiler_idle_ns += of_gap_ns;
    for (const StepSpan& span : spans) {
      if (span.place != StepPlace::step || !rows.contains(span.number)) continue;
      const LocalNs from = std::max(gap.begin, span.begin), to = std::min(gap.end, span.end);
      if (from < to) rows[span.number]->profiler_idle_ns += buffers.covered_ns(from, to);
    }
  }
}

std::vector<KernelTotals> kernel_totals(const GpuEvents& gpu, const StringTable& strings) {
  struct Sums {
    KernelTotals totals;
    double mean = 0, squares = 0;  // Welford
    std::vector<int64_t> ns;
  };
  std::unordered_map<StringId, Sums> by_name;
  for (size_t i = 0; i < gpu.size(); ++i) {
    Sums& sums = by_name[gpu.name[i]];
    KernelTotals& t = sums.totals;
    const int64_t ns = gpu.duration_ns[i];
    if (t.count == 0) {
      t.name = strings.view(gpu.name[i]);
      t.work = gpu.work[i];
      t.shortest_ns = t.longest_ns = ns;
    }
    ++t.count;
    t.total_ns += ns;
    t.shortest_ns = std::min(t.shortest_ns, ns);
    t.longest_ns = std::max(t.longest_ns, ns);
    const double off = static_cast<double>(ns) - sums.mean;
    sums.mean += off / static_cast<double>(t.count);
    sums.squares += off * (static_cast<double>(ns) - sums.mean);
    sums.ns.push_back(ns);
  }
  std::vector<KernelTotals> kernels;
  for (auto& [name, sums] : by_name) {
    sums.totals.library = kernel_library(sums.totals.name);
    if (sums.totals.count > 1) {
      sums.totals.deviation_ns = std::sqrt(sums.squares / static_cast<double>(sums.totals.count - 1));
    }
    sums.totals.median_ns = spread_of(sums.ns).median_ns;
    kernels.push_back(std::move(sums.totals));
  }
  std::sort(kernels.begin(), kernels.end(), [](const KernelTotals& a, const KernelTotals& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
  });
  fill_shares(kernels, [](const KernelTotals& row) { return row.total_ns; });
  add_up_shares(kernels);
  return kernels;
}

}  // namespace skewscope::summarize
