#include "describe_rows.h"

#include <tbb/parallel_invoke.h>

#include <map>

namespace skewscope::ingest {
namespace {

template <class Events>
Window window_over(const Events& events) {
  Window window;
  for (size_t i = 0; i < events.size(); ++i) window.include(events.start[i], events.duration_ns[i]);
  return window;
}

// Over GPU rows, launches, steps and calls; a trace without any of them: over its host rows.
Window window_of(const LinkedTrace& linked) {
  const RankTrace& trace = linked.trace;
  Window window, of_launches;
  tbb::parallel_invoke([&] { window = window_over(trace.gpu); }, [&] { of_launches = window_over(trace.launches); });
  window.include(of_launches);
  for (const StepRange& step : trace.steps) window.include(step.start, step.duration_ns);
  for (const CollectiveCall& call : trace.calls) window.include(call.start, call.duration_ns);
  return window.any ? window : Window{linked.first_host_row, linked.last_host_row, false};
}

// The device most GPU rows ran on; the smaller one on a tie.
int32_t busiest_device(const GpuEvents& gpu) {
  std::map<int32_t, int64_t> rows;
  for (size_t begin = 0, end = 0; begin < gpu.size(); begin = end) {
    while (end < gpu.size() && gpu.device[end] == gpu.device[begin]) ++end;
    rows[gpu.device[begin]] += static_cast<int64_t>(end - begin);
  }
  const auto most =
      std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == rows.end() ? -1 : most->first;
}

}  // namespace

Window host_window(const FileContent& content) {
  Window window;
  const LaunchEvents& launches = content.launches.events;
  for (size_t i = 0; i < launches.size(); ++i) window.include(launches.start[i], launches.duration_ns[i]);
  for (const CommOpRow& row : content.comm_ops) window.include(row.start, row.duration_ns);
  return window;
}

void describe_rows(LinkedTrace& linked) {
  RankTrace& trace = linked.trace;
  Window window;
  tbb::parallel_invoke([&] { trace.device = busiest_device(trace.gpu); }, [&] { window = window_of(linked); });
  const bool named = trace.device >= 0 && static_cast<size_t>(trace.device) < linked.device_names.size();
  trace.device_name = named ? linked.device_names[static_cast<size_t>(trace.device)] : "";
  trace.first_event = window.first;
  trace.last_event = window.last;
}

GpuVendor vendor_of(const FileContent& content) {
  if (!content.launches.empty()) {
    if (content.hip_launches) return GpuVendor::amd;
    if (content.intel_launches) return GpuVendor::intel;
    return content.cuda_launches ? GpuVendor::nvidia : GpuVendor::other;
  }
  const std::string device = content.devices.empty() ? "" : content.devices.front().name;
  if (content.hip_properties || device.starts_with("AMD")) return GpuVendor::amd;
  if (device.starts_with("Ascend")) return GpuVendor::other;
  return device.starts_with("Intel") ? GpuVendor::intel : GpuVendor::nvidia;
}

void take_over(FileContent& content, LinkedTrace& linked) {
  linked.trace.file = content.file;
  linked.trace.host = content.host_name;
  linked.trace.software = std::move(content.software);
  linked.trace.calls_only = content.calls_only;
  linked.trace.durations_only = content.durations_only;
  linked.trace.one_of = content.one_of;
  linked.trace.has_cpu_ops = content.has_cpu_ops || content.one_clock;
  linked.trace.resolution_ns = content.resolution_ns;
  linked.trace.grids = content.kernel_grids.sums(content.strings);
  linked.findings = std::move(content.findings);
  linked.strings = std::move(content.strings);
  for (DeviceProperties& device : content.devices) linked.device_names.push_back(std::move(device.name));
}

}  // namespace skewscope::ingest
