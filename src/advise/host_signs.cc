// Signs of a host that cannot keep the GPU busy, and of the profiler itself.
#include <fmt/format.h>

#include <algorithm>

#include "signs.h"
#include "skewscope/base/human_units.h"

namespace skewscope::advise {
namespace {

// Sums over operators, as the profiler's own table prints them.
struct SelfTimes {
  int64_t host_ns = 0, device_ns = 0;
};

// Of what a row of operators took on the host, what the profiler did as it ended the recording.
int64_t profiler_ns(const RankTables& tables, const OperatorRow& row) {
  const auto call = std::find_if(tables.calls.begin(), tables.calls.end(),
                                 [&](const HostCallTotals& one) { return one.name == row.name; });
  return call == tables.calls.end() ? 0 : std::min(call->profiler_ns, row.host_self_ns);
}

SelfTimes self_times(const View& view) {
  SelfTimes self;
  for (const OperatorRow& row : view.operators.operators) {
    self.host_ns += row.host_self_ns - profiler_ns(view.tables, row);
    self.device_ns += row.device_self_ns;
  }
  return self;
}

// The device that idled longest; null: nothing was launched. What all of them lost passed at the same time.
template <class Idle>
const LaunchBound* idlest(const View& view, const Idle& idle_ns) {
  const std::vector<LaunchBound>& devices = view.tables.launch_bound;
  const auto longest =
      std::max_element(devices.begin(), devices.end(),
                       [&](const LaunchBound& a, const LaunchBound& b) { return idle_ns(a) < idle_ns(b); });
  return longest == devices.end() ? nullptr : &*longest;
}

bool synchronizes(const HostCallTotals& call) { return call.name.find("Synchronize") != std::string::npos; }

}  // namespace

std::optional<Advice> overhead_bound(const View& view, const Rule& rule) {
  const SelfTimes self = self_times(view);
  // The steps may be longer than the window of the GPU's rows.
  const Utilization& used = view.tables.utilization;
  const bool by_steps = used.gpu >= 0 && 1 - used.gpu > view.share(view.whole().timeline.idle_ns);
  const int64_t idle_ns = by_steps ? used.window_ns - used.kernel_ns : view.whole().timeline.idle_ns;
  const double idle = by_steps ? 1 - used.gpu : view.share(idle_ns);
  if (self.device_ns == 0 || idle <= threshold(rule, "idle_share")) return {};
  const double ratio = static_cast<double>(self.host_ns) / static_cast<double>(self.device_ns);
  if (ratio < threshold(rule, "host_over_device")) return {};
  Advice advice;
  advice.sign = fmt::format(
      "operators take {} on the CPU and {} on the GPU ({:.0f} times as long), and the GPU is idle for {} of the {}",
      human_duration(self.host_ns), human_duration(self.device_ns), ratio, human_percent(idle),
      by_steps ? "steps" : "window");
  advice.saves_at_most_ns = idle_ns;
  if (by_steps) advice.window_ns = used.window_ns;
  for (const OperatorRow& row : view.operators.operators) {
    advice.evidence.push_back({row.name + " on the host", row.calls, row.host_self_ns - profiler_ns(view.tables, row)});
  }
  std::stable_sort(advice.evidence.begin(), advice.evidence.end(),
                   [](const Evidence& a, const Evidence& b) { return a.time_ns > b.time_ns; });
  advice.evidence.resize(std::min<size_t>(advice.evidence.size(), 3));
  return advice;
}

std::optional<Advice> compute_bound(const View& view, const Rule& rule) {
  const double computing = view.share(view.whole().timeline.compute_ns);
  if (computing <= threshold(rule, "busy_share")) return {};
  // The steps may be longer than the window of the GPU's rows.
  const double used = view.tables.utilization.gpu;
  if (used >= 0 && used <= threshold(rule, "busy_share")) return {};
  Advice advice;
  advice.sign = fmt::format("the GPU computes {} of its window", human_percent(computing));
  return advice;
}

std::optional<Advice> launch_bound(const View& view, const Rule& rule) {
  const LaunchBound* const worst = idlest(view, [](const LaunchBound& d) { return d.idle_ns; });
  if (worst == nullptr || view.share(worst->idle_ns) <= threshold(rule, "idle_share")) return {};
  if (static_cast<double>(worst->rows) < threshold(rule, "rows")) return {};
  Advice advice;
  for (const LaunchBound& device : view.tables.launch_bound) {
    if (device.stretches > 0) {
      advice.evidence.push_back(
          {fmt::format("worst gap on GPU {}", device.device), device.longest_rows, device.longest_ns});
    }
  }
  const std::string gpu = view.tables.launch_bound.size() > 1 ? fmt::format("GPU {}", worst->device) : "the GPU";
  advice.sign = fmt::format("{} waited for the CPU {} times, {} in all ({} of the window)", gpu, worst->rows,
                            human_duration(worst->idle_ns), human_percent(view.share(worst->idle_ns)));
  advice.saves_at_most_ns = worst->idle_ns;
  return advice;
}

std::optional<Advice> queued_but_idle(const View& view, const Rule& rule) {
  const LaunchBound* const worst = idlest(view, [](const LaunchBound& d) { return d.queued_idle_ns; });
  if (worst == nullptr || view.share(worst->queued_idle_ns) <= threshold(rule, "idle_share")) return {};
  Advice advice;
  const std::string gpu = view.tables.launch_bound.size() > 1 ? fmt::format("GPU {}", worst->device) : "the GPU";
  advice.sign = fmt::format("{} was idle for {} ({} of the window) in {} gaps although the next row had been launched",
                            gpu, human_duration(worst->queued_idle_ns),
                            human_percent(view.share(worst->queued_idle_ns)), worst->queued_gaps);
  advice.saves_at_most_ns = worst->queued_idle_ns;
  for (const StreamIdle& stream : view.tables.streams) {
    if (stream.other.total_ns == 0) continue;
    advice.evidence.push_back({fmt::format("gaps of stream {} on device {}", stream.stream, stream.device),
                               stream.other.each_ns.count, stream.other.total_ns});
  }
  return advice;
}

std::optional<Advice> little_used(const View& view, const Rule& rule) {
  const Utilization& used = view.tables.utilization;
  if (used.gpu < 0 || used.gpu >= threshold(rule, "used_share") || view.steps().empty()) return {};
  Advice advice;
  advice.sign =
      fmt::format("kernels run {} of {} of steps", human_duration(used.kernel_ns), human_duration(used.window_ns));
  advice.saves_at_most_ns = used.window_ns - used.kernel_ns;
  advice.window_ns = used.window_ns;
  return advice;
}

std::optional<Advice> cold_first_step(const View& view, const Rule& rule) {
  const std::vector<const TimelineRow*> steps = view.steps();
  if (static_cast<double>(steps.size()) < threshold(rule, "steps")) return {};
  std::vector<int64_t> others;
  for (size_t i = 1; i < steps.size(); ++i) others.push_back(steps[i]->host_ns);
  std::sort(others.begin(), others.end());
  const int64_t median_ns = others[others.size() / 2];
  const int64_t first_ns = steps.front()->host_ns;
  if (static_cast<double>(first_ns) <= threshold(rule, "over_median") * static_cast<double>(median_ns)) return {};
  Advice advice;
  advice.sign = fmt::format("step {} takes {}, the median of the others is {}", steps.front()->step,
                            human_duration(first_ns), human_duration(median_ns));
  advice.saves_at_most_ns = first_ns - median_ns;
  advice.window_ns = view.tables.utilization.window_ns;
  advice.evidence = {{fmt::format("step {}", steps.front()->step), 1, first_ns}};
  return advice;
}

std::optional<Advice> profiler_buffers(const View& view, const Rule& rule) {
  int64_t total_ns = 0, count = 0;
  Advice advice;
  for (const HostCallTotals& row : view.tables.overheads) {
    if (row.name.find("Buffer") == std::string::npos) continue;
    total_ns += row.total_ns;
    count += row.count;
    advice.evidence.push_back({row.name, row.count, row.total_ns});
  }
  if (static_cast<double>(total_ns) < threshold(rule, "time_ns")) return {};
  advice.sign = fmt::format("the profiler spent {} on its buffers, in {} event{}", human_duration(total_ns), count,
                            count == 1 ? "" : "s");
  const LaunchTotals& launches = view.tables.launches;
  const int64_t idle_ns = view.whole().profiler_idle_ns;
  if (idle_ns > 0) advice.sign += fmt::format("; the GPU was idle for {} meanwhile", human_duration(idle_ns));
  if (launches.profiler_rows > 0) {
    advice.sign += fmt::format("; kernels launched before that waited meanwhile: {}", launches.profiler_rows);
  }
  for (const TimelineRow* step : view.steps()) {
    if (step->profiler_idle_ns <= 0) continue;
    advice.evidence.push_back({fmt::format("gap in step {}", step->step), 1, step->profiler_idle_ns});
  }
  return advice;
}

std::optional<Advice> host_synchronization(const View& view, const Rule& rule) {
  int64_t idle_ns = 0, waited_ns = 0, calls = 0;
  Advice advice;
  for (const HostCallTotals& call : view.tables.calls) {
    if (!call.waits || call.in_steps == 0 || call.in_steps_idle_after_ns == 0) continue;
    idle_ns += call.in_steps_idle_after_ns;
    waited_ns += call.in_steps_ns;
    calls += call.in_steps;
    advice.evidence.push_back({call.name, call.in_steps, call.in_steps_idle_after_ns});
  }
  if (calls == 0 || view.share(idle_ns) <= threshold(rule, "idle_share")) return {};
  advice.sign =
      fmt::format("{} calls {} wait for the GPU ({}); the GPU is idle for {} around their return, {} of the window",
                  calls, view.steps().empty() ? "of the window" : "inside steps", human_duration(waited_ns),
                  human_duration(idle_ns), human_percent(view.share(idle_ns)));
  advice.saves_at_most_ns = idle_ns;
  for (const OperatorRow& row : view.operators.operators) {
    if (row.name == "aten::_local_scalar_dense" || row.name == "aten::item") {
      advice.evidence.push_back({row.name, row.calls, row.host_total_ns});
    }
  }
  return advice;
}

std::optional<Advice> launch_blocking(const View& view, const Rule& rule) {
  int64_t synchronizations = 0, total_ns = 0;
  for (const HostCallTotals& call : view.tables.calls) {
    if (!synchronizes(call)) continue;
    synchronizations += call.count;
    total_ns += call.total_ns;
  }
  const int64_t launches = view.tables.launches.rows;
  constexpr int64_t kFewestLaunches = 20;
  if (launches < kFewestLaunches) return {};
  const int64_t blocking = std::max(synchronizations, view.tables.launches.covered_rows);
  if (static_cast<double>(blocking) < threshold(rule, "share_of_launches") * static_cast<double>(launches)) return {};
  Advice advice;
  advice.sign = fmt::format("{} launches, {} of them returned after their kernel, {} synchronizing calls", launches,
                            view.tables.launches.covered_rows, synchronizations);
  advice.saves_at_most_ns = view.whole().timeline.idle_ns;
  advice.evidence = {{"synchronizing calls", synchronizations, total_ns}};
  return advice;
}

std::optional<Advice> data_loading(const View& view, const Rule& rule) {
  int64_t length_ns = 0, waited_ns = 0;
  Advice advice;
  for (const ExecutionRow& row : view.operators.execution) {
    const int64_t ns = row.part_ns(ExecutionPart::data_loader);
    length_ns += row.length_ns;
    waited_ns += ns;
    if (ns > 0) advice.evidence.push_back({row.step < 0 ? "the trace" : fmt::format("step {}", row.step), 1, ns});
  }
  if (length_ns == 0) return {};
  const double share = static_cast<double>(waited_ns) / static_cast<double>(length_ns);
  if (share <= threshold(rule, "step_share")) return {};
  advice.sign =
      fmt::format("the program waits {} for its data loader while the GPU is idle, {} of {}", human_duration(waited_ns),
                  human_percent(share), view.steps().empty() ? "the trace" : "its steps");
  advice.saves_at_most_ns = waited_ns;
  advice.window_ns = length_ns;
  return advice;
}

}  // namespace skewscope::advise
