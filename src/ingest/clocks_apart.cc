// Problem: on Windows, and with the first releases of CUPTI, GPU rows are stamped by a clock that counts from boot,
// host rows by Unix time: 54 years lie between a launch and its kernel, the window is as long, and no step holds a row.
// Idea: a constant can be added to all stamps of the GPU: no kernel begins before its launch, and none that was
// launched before a call that waits for the device ends behind that. Between these two bounds the middle is taken;
// where nothing waits for the device, the first. Why right: durations and the order of GPU rows stay, and so does all
// that ranks compare of each other; steps, launches and idle time are right to within the least latency of a launch.
// Cost: a look at some rows; one pass more where the clocks are apart.
#include "clocks_apart.h"
#include "median.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace skewscope::ingest {
namespace {

constexpr int64_t kSecondOfClock_ns = 1'000'000'000;
// Queues run ahead by seconds, not by hours; clocks that are compared now and then differ by less than seconds.
constexpr int64_t kNeverLater_ns = 3600 * kSecondOfClock_ns, kNeverEarlier_ns = -10 * kSecondOfClock_ns;
constexpr size_t kRowsAsked = 256;

bool is_apart(int64_t delay_ns) { return delay_ns > kNeverLater_ns || delay_ns < kNeverEarlier_ns; }

// From launch to GPU row, of rows all over the trace.
std::vector<int64_t> some_delays(const FileContent& content) {
  const GpuEvents& gpu = content.gpu.events;
  std::vector<int64_t> delays;
  const size_t stride = std::max<size_t>(gpu.size() / kRowsAsked, 1);
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (gpu.launch[i] < 0) continue;
    delays.push_back(gpu.start[i] - content.launches.events.start[static_cast<size_t>(gpu.launch[i])]);
    i += stride - 1;
  }
  return delays;
}

// What has to be added to the stamps of the GPU, at least, and at most.
struct Bounds {
  std::optional<int64_t> least_ns, most_ns;
};

// `usual_ns`: the delay of most rows; a broken stamp says nothing.
Bounds bounds_of(const FileContent& content, int64_t usual_ns) {
  const GpuEvents& gpu = content.gpu.events;
  std::vector<SyncRow> syncs = content.syncs;
  std::erase_if(syncs, [](const SyncRow& sync) { return sync.ends_recording || !sync.of_device; });
  std::sort(syncs.begin(), syncs.end(), [](const SyncRow& a, const SyncRow& b) { return a.start < b.start; });
  Bounds bounds;
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (gpu.launch[i] < 0) continue;
    const LocalNs launched = content.launches.events.start[static_cast<size_t>(gpu.launch[i])];
    const int64_t delay_ns = gpu.start[i] - launched;
    if (delay_ns - usual_ns > kNeverLater_ns || usual_ns - delay_ns > kNeverLater_ns) continue;
    bounds.least_ns = std::max(bounds.least_ns.value_or(-delay_ns), -delay_ns);
    const auto sync =
        std::partition_point(syncs.begin(), syncs.end(), [&](const SyncRow& row) { return row.start < launched; });
    if (sync == syncs.end()) continue;
    const int64_t room_ns = sync->start + sync->duration_ns - (gpu.start[i] + gpu.duration_ns[i]);
    bounds.most_ns = std::min(bounds.most_ns.value_or(room_ns), room_ns);
  }
  return bounds;
}

void move_gpu_rows(int64_t ns, FileContent& content) {
  for (LocalNs& start : content.gpu.events.start) start = start + ns;
  for (GpuAnnotationRow& row : content.gpu_annotations) row.start = row.start + ns;
  if (!content.details) return;
  for (GpuAnnotationRow& row : content.details->gpu_annotations) row.start = row.start + ns;
}

}  // namespace

std::string long_time_words(int64_t ns) {
  const double s = static_cast<double>(ns) * 1e-9;
  constexpr double kMinute = 60, kHour = 3600, kDay = 86'400, kYear = 365.25 * kDay;
  if (s >= 2 * kYear) return fmt::format("{:.0f} years", s / kYear);
  if (s >= 2 * kDay) return fmt::format("{:.0f} days", s / kDay);
  if (s >= 2 * kHour) return fmt::format("{:.0f} h", s / kHour);
  if (s >= 2 * kMinute) return fmt::format("{:.0f} min", s / kMinute);
  return s >= 1 ? fmt::format("{:.1f} s", s) : fmt::format("{:.0f} ms", s * 1e3);
}

bool bring_clocks_together(FileContent& content) {
  const std::vector<int64_t> delays = some_delays(content);
  if (delays.empty() || !std::any_of(delays.begin(), delays.end(), is_apart)) return false;
  const int64_t usual_ns = median_of(delays);
  if (!is_apart(usual_ns)) return false;
  const Bounds bounds = bounds_of(content, usual_ns);
  if (!bounds.least_ns) return false;
  const bool both = bounds.most_ns && *bounds.most_ns > *bounds.least_ns;
  move_gpu_rows(both ? *bounds.least_ns + (*bounds.most_ns - *bounds.least_ns) / 2 : *bounds.least_ns, content);
  add_finding(content.findings,
              {Severity::warning, "gpu-clock-apart", content.file, Rank(), -1, std::ssize(content.gpu.events.start),
               fmt::format("GPU rows lie {} {} the calls that launched them: their clock counts from another moment "
                           "than the host's; they were moved to where none begins before its launch",
                           long_time_words(usual_ns < 0 ? -usual_ns : usual_ns), usual_ns < 0 ? "before" : "behind")});
  return true;
}

}  // namespace skewscope::ingest
