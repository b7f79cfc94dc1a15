// Problem: on Windows, and with the first releases of CUPTI, GPU rows are stamped by a clock that counts from boot,
// host rows by Unix time: 54 years lie between a launch and its kernel, the window is as long, and no step holds a row.
// Where the tracer's conversion drifts or a clock is set, seconds or minutes do.
// Idea: a constant can be added to all stamps of the GPU: no kernel begins before its launch, and none that was
// launched before a call that waits for the device ends behind that. Between these two bounds the middle is taken;
// where nothing waits for the device, the first.
// Clocks are apart where rows begin before their launches; where those end long behind calls that waited for them, or
// behind recording; and where none of these calls is there, if no row begins near its launch, not even those
// before which the GPU stood idle. A queue is no such case: what waits in it waits for something that runs, and pauses
// of the host, however long, are before launches. A few stamps of their own do not count.
// Why right: durations and the order of GPU rows stay, and so does all that ranks compare of each other; steps,
// launches and idle time are right to within the least latency of a launch. Cost: a look at some rows; one pass over
// all where these begin late or early.
#include "clocks_apart.h"
#include "median.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace skewscope::ingest {
namespace {

// Queues run ahead by seconds, not by hours.
constexpr int64_t kNeverQueued_ns = 3'600'000'000'000;
constexpr int64_t kClocksAgree_ns = 10'000'000;    // clocks of a host and its GPU that are compared now and then
constexpr int64_t kFlushed_ns = 1'000'000'000;     // behind the end of recording
constexpr int64_t kNeverLatency_ns = 250'000'000;  // from the end of a launch to its kernel on an idle GPU
constexpr int64_t kStoodIdle_ns = 50'000;
constexpr size_t kRowsAsked = 256, kRowsToTell = 2, kFewRows = 2, kShareOfFew = 100;

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

// The least of those that lie together: a few broken stamps lie further from these than they among themselves.
int64_t least_of(std::vector<int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const size_t few = std::min(std::max(kFewRows, numbers.size() / kShareOfFew), (numbers.size() - 1) / 2);
  const int64_t most = numbers[numbers.size() - 1 - few];
  size_t least = 0;
  for (size_t i = 0; i < few; ++i) {
    if (numbers[i + 1] - numbers[i] > std::max(kClocksAgree_ns, most - numbers[i + 1])) least = i + 1;
  }
  return numbers[least];
}

bool half_exceed(const std::vector<int64_t>& numbers, int64_t limit) {
  const auto beyond = std::count_if(numbers.begin(), numbers.end(), [&](int64_t n) { return n > limit; });
  return !numbers.empty() && 2 * beyond >= std::ssize(numbers);
}

// What the rows say that have a launch.
struct Delays {
  std::vector<int64_t> from_launch;
  std::vector<int64_t> idle;          // from the end of the launch, where the GPU stood idle before the row
  std::vector<int64_t> behind_waits;  // from where a call returned that had waited for the device to the row's end
  std::vector<int64_t> behind_recording;

  bool clocks_are_apart() const {
    const int64_t usual_ns = median_of(from_launch);
    if (usual_ns < -kClocksAgree_ns || usual_ns > kNeverQueued_ns) return true;
    const auto is_prompt = [](int64_t ns) { return ns >= -kClocksAgree_ns && ns <= kClocksAgree_ns; };
    if (std::any_of(from_launch.begin(), from_launch.end(), is_prompt)) return false;
    if (!behind_waits.empty()) return half_exceed(behind_waits, kClocksAgree_ns);
    if (half_exceed(behind_recording, kFlushed_ns)) return true;
    const auto is_latency = [](int64_t ns) { return ns <= kNeverLatency_ns; };
    return idle.size() >= kRowsToTell && std::none_of(idle.begin(), idle.end(), is_latency);
  }
};

Delays delays_of(const FileContent& content) {
  const GpuEvents& gpu = content.gpu.events;
  std::optional<LocalNs> recording_end;
  std::vector<SyncRow> syncs;
  for (const SyncRow& sync : content.syncs) {
    if (sync.ends_recording) recording_end = std::max(recording_end.value_or(sync.start), sync.start);
    if (!sync.ends_recording && sync.of_device) syncs.push_back(sync);
  }
  std::sort(syncs.begin(), syncs.end(), [](const SyncRow& a, const SyncRow& b) { return a.start < b.start; });
  Delays delays;
  LocalNs ended{INT64_MIN};  // any row so far
  for (size_t i = 0; i < gpu.size(); ++i) {
    const LocalNs end = gpu.start[i] + gpu.duration_ns[i];
    const bool stood_idle = i > 0 && gpu.start[i] - ended > kStoodIdle_ns;
    ended = std::max(ended, end);
    if (gpu.launch[i] < 0) continue;
    const auto launch = static_cast<size_t>(gpu.launch[i]);
    const LocalNs launched = content.launches.events.start[launch];
    const int64_t delay_ns = gpu.start[i] - launched;
    delays.from_launch.push_back(delay_ns);
    if (stood_idle) delays.idle.push_back(delay_ns - std::max<int64_t>(content.launches.events.duration_ns[launch], 0));
    if (recording_end) delays.behind_recording.push_back(end - *recording_end);
    const auto sync =
        std::partition_point(syncs.begin(), syncs.end(), [&](const SyncRow& row) { return row.start < launched; });
    if (sync != syncs.end()) delays.behind_waits.push_back(end - (sync->start + sync->duration_ns));
  }
  return delays;
}

// What is added to the stamps of the GPU.
int64_t shift_of(const Delays& delays) {
  const int64_t least_ns = -least_of(delays.from_launch);
  if (delays.behind_waits.empty()) return least_ns;
  std::vector<int64_t> rooms;
  for (const int64_t ns : delays.behind_waits) rooms.push_back(-ns);
  const int64_t most_ns = least_of(std::move(rooms));
  return most_ns > least_ns ? least_ns + (most_ns - least_ns) / 2 : least_ns;
}

void move_gpu_rows(int64_t ns, FileContent& content) {
  for (LocalNs& start : content.gpu.events.start) start = start + ns;
  for (CutRow& row : content.cut_rows) row.start = row.start + ns;
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
  std::vector<int64_t> some = some_delays(content);
  if (some.empty()) return false;
  const int64_t usual_ns = median_of(std::move(some));
  if (usual_ns >= -kClocksAgree_ns && usual_ns <= kClocksAgree_ns) return false;
  const Delays delays = delays_of(content);
  if (!delays.clocks_are_apart()) return false;
  const int64_t shift_ns = shift_of(delays);
  move_gpu_rows(shift_ns, content);
  report(content, Severity::warning, "gpu-clock-apart", std::ssize(content.gpu.events.start),
         fmt::format("GPU rows are {} {} the calls that launched them: GPU and host clock start at different moments; "
                     "the rows were moved so that none starts before its launch",
                     long_time_words(shift_ns < 0 ? -shift_ns : shift_ns), shift_ns > 0 ? "before" : "behind"));
  return true;
}

}  // namespace skewscope::ingest
