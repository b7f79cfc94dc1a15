// Problem: the end stamp of the last row of a stream can be one of another clock; nothing follows on its stream that
// would contradict it, and the job is as long as that row: seconds in which a GPU "computes".
// Idea: other things contradict. A call that waits for the device, made after the row was launched, returned when it
// had ended; recording ended behind all that was recorded. Where neither is there, a computing kernel that ends long
// after everything else began, and takes a hundred times what the others of its name take, is not believed either. A
// collective that lasts is, as it may wait for somebody, unless a kernel went on that had waited for it.
// What it is cut to: the bound; a computing kernel to what kernels of its name take here, where that is less. A
// collective, to where a kernel began that was launched behind it and stood ready on an idle stream: nothing else ended
// there that it could have waited for. Rows that were cut at the next start on their stream end no later than that.
// Why right: clocks of host and GPU differ by milliseconds at most, and buffers are flushed within a second behind the
// end of recording; what is cut overruns its bound by a tenth of a second, or by a second, and takes ten times what
// others of its name do.
// Cost: a look at the ends of all rows; only where one is late, more.
#include "late_ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "clocks_apart.h"
#include "collectives/backend_prefix.h"
#include "median.h"

namespace skewscope::ingest {
namespace {

constexpr int64_t kLate_ns = 100'000'000;                  // behind what bounds it
constexpr int64_t kLateUnbounded_ns = 1'000'000'000;       // where only the end of recording does, or habits
constexpr int64_t kUnusual = 10, kUnusualUnbounded = 100;  // times what others of the name take
constexpr size_t kOthersToTell = 3;
constexpr int64_t kMostAsked = 1000;   // rows of which is asked what they freed: each looks at all
constexpr int64_t kReady_ns = 20'000;  // a kernel that was launched so long ago waits for something

class LateEnds {
 public:
  explicit LateEnds(FileContent& content) : content_(content) {}

  void cut() {
    const bool gpu_rows = any_long(content_.gpu.events.duration_ns);
    if (!gpu_rows && content_.cut_rows.empty() && !any_long_on_host()) return;
    find_bounds();
    for (const CutRow& row : content_.cut_rows) shorten(row);
    if (gpu_rows) cut_gpu_rows();
    cut_host_rows();
  }

 private:
  // What ends late took as long.
  static bool any_long(const Column<int64_t>& durations) {
    int64_t longest_ns = 0;
    for (const int64_t ns : durations) longest_ns = std::max(longest_ns, ns);
    return longest_ns > kLate_ns;
  }

  bool any_long_on_host() const {
    const auto is_long = [](const auto& row) { return row.duration_ns > kLate_ns; };
    return any_long(content_.launches.events.duration_ns) ||
           std::any_of(content_.steps.begin(), content_.steps.end(), is_long) ||
           std::any_of(content_.comm_ops.begin(), content_.comm_ops.end(), is_long);
  }

  void cut_gpu_rows() {
    int64_t cut = 0, furthest_ns = 0;
    GpuEvents& gpu = content_.gpu.events;
    for (size_t i = 0; i < gpu.size(); ++i) {
      if (gpu.duration_ns[i] <= kLate_ns) continue;
      const std::optional<LocalNs> end = true_end_of(i);
      if (!end) continue;
      const LocalNs told = gpu.start[i] + gpu.duration_ns[i];
      if (gpu.work[i] == GpuWork::compute) content_.kernel_grids.add_time(gpu.name[i], *end - told);
      gpu.duration_ns[i] = *end - gpu.start[i];
      furthest_ns = std::max(furthest_ns, told - *end);
      ++cut;
    }
    report("end-out-of-range", cut, furthest_ns,
           "GPU rows end after calls that waited for them, after recording, or after everything else");
  }

  void find_bounds() {
    for (const SyncRow& sync : content_.syncs) {
      if (sync.ends_recording) recording_end_ = std::max(recording_end_.value_or(sync.start), sync.start);
      if (!sync.ends_recording && sync.of_device) syncs_.push_back(sync);
    }
    std::sort(syncs_.begin(), syncs_.end(), [](const SyncRow& a, const SyncRow& b) { return a.start < b.start; });
    const auto see = [&](LocalNs time) { latest_ = std::max(latest_, time); };
    for (const SyncRow& sync : syncs_) see(sync.start + sync.duration_ns);
    if (!content_.gpu.empty()) see(content_.gpu.events.start[content_.gpu.size() - 1]);
    for (const LocalNs start : content_.launches.events.start) see(start);
    for (const StepRow& step : content_.steps) see(step.start);
    for (const CommOpRow& op : content_.comm_ops) see(op.start);
  }

  // What rows of its name take; none: too few others to tell.
  std::optional<int64_t> usual_ns(size_t row) {
    const GpuEvents& gpu = content_.gpu.events;
    if (usual_.empty()) {
      std::unordered_map<size_t, std::vector<int64_t>> durations;
      for (size_t i = 0; i < gpu.size(); ++i) durations[gpu.name[i].index()].push_back(gpu.duration_ns[i]);
      for (auto& [name, of_name] : durations) {
        usual_.emplace(name, of_name.size() > kOthersToTell ? median_of(std::move(of_name)) : -1);
      }
    }
    const int64_t usual = usual_.at(gpu.name[row].index());
    return usual < 0 ? std::nullopt : std::optional(usual);
  }

  // When the host had waited for it, or recording had ended; none: neither is known.
  std::optional<LocalNs> bound_of(size_t row) const {
    const GpuEvents& gpu = content_.gpu.events;
    const int32_t launch = gpu.launch[row];
    const LocalNs launched = launch < 0 ? gpu.start[row] : content_.launches.events.start[static_cast<size_t>(launch)];
    std::optional<LocalNs> bound = recording_end_;
    auto sync =
        std::partition_point(syncs_.begin(), syncs_.end(), [&](const SyncRow& call) { return call.start < launched; });
    for (; sync != syncs_.end() && (!bound || sync->start < *bound); ++sync) {
      const LocalNs returned = sync->start + sync->duration_ns;
      bound = std::min(bound.value_or(returned), returned);
    }
    return bound;
  }

  // None: as told.
  std::optional<LocalNs> true_end_of(size_t row) {
    const GpuEvents& gpu = content_.gpu.events;
    const LocalNs start = gpu.start[row], end = start + gpu.duration_ns[row];
    const std::optional<LocalNs> bound = bound_of(row);
    const LocalNs latest = std::max(bound.value_or(latest_), start);
    const int64_t late_ns = end - latest;
    const bool waited_for = bound && (!recording_end_ || *bound < *recording_end_);
    if (late_ns <= (waited_for ? kLate_ns : kLateUnbounded_ns)) return std::nullopt;
    const std::optional<int64_t> usual = usual_ns(row);
    const int64_t unusual_ns = usual.value_or(0) * (bound ? kUnusual : kUnusualUnbounded);
    if (gpu.duration_ns[row] <= unusual_ns) return std::nullopt;
    const bool may_wait = gpu.work[row] == GpuWork::communication;
    if (!bound && !usual) return std::nullopt;
    if (may_wait) {
      const std::optional<LocalNs> freed = freed_kernel_after(row);
      return bound || freed ? std::optional(std::min(latest, freed.value_or(latest))) : std::nullopt;
    }
    if (!usual) return latest;
    return bound ? std::min(latest, start + *usual) : start + *usual;
  }

  // Start of the first kernel that began as this row must have ended; none: several things may have freed it.
  std::optional<LocalNs> freed_kernel_after(size_t row) {
    const GpuEvents& gpu = content_.gpu.events;
    const Column<LocalNs>& launched = content_.launches.events.start;
    if (gpu.launch[row] < 0 || ++asked_ > kMostAsked) return std::nullopt;
    const LocalNs own_launch = launched[static_cast<size_t>(gpu.launch[row])];
    LocalNs ended{INT64_MIN};  // any other row of the device, so far
    for (size_t i = 0; i < gpu.size(); ++i) {
      if (i == row || gpu.device[i] != gpu.device[row]) continue;
      const bool others_run = ended + kReady_ns > gpu.start[i];
      ended = std::max(ended, gpu.start[i] + gpu.duration_ns[i]);
      if (gpu.start[i] <= gpu.start[row] || gpu.stream[i] == gpu.stream[row] || gpu.launch[i] < 0) continue;
      const LocalNs launch = launched[static_cast<size_t>(gpu.launch[i])];
      const bool stood_ready = launch > own_launch && launch + kReady_ns < gpu.start[i];
      if (stood_ready) return others_run ? std::nullopt : std::optional(gpu.start[i]);
    }
    return std::nullopt;
  }

  void shorten(const CutRow& cut) {
    GpuEvents& gpu = content_.gpu.events;
    const auto first = std::lower_bound(gpu.start.begin(), gpu.start.end(), cut.start) - gpu.start.begin();
    for (auto i = static_cast<size_t>(first); i < gpu.size() && gpu.start[i] == cut.start; ++i) {
      if (gpu.device[i] != cut.device || gpu.stream[i] != cut.stream) continue;
      const LocalNs end = gpu.start[i] + gpu.duration_ns[i];
      LocalNs ended = std::min(end, std::max(bound_of(i).value_or(end), gpu.start[i]));
      if (gpu.work[i] == GpuWork::communication) {
        ended = std::min(ended, freed_kernel_after(i).value_or(ended));
      } else if (const std::optional<int64_t> usual = usual_ns(i)) {
        ended = std::min(ended, gpu.start[i] + *usual);
      }
      gpu.duration_ns[i] = ended - gpu.start[i];
    }
  }

  // Over GPU rows as they are now, and what the host waited for.
  LocalNs end_of_all() const {
    LocalNs end = latest_;
    const GpuEvents& gpu = content_.gpu.events;
    for (size_t i = 0; i < gpu.size(); ++i) end = std::max(end, gpu.start[i] + gpu.duration_ns[i]);
    return end;
  }

  void cut_host_rows() {
    const LocalNs end = end_of_all();
    cut_ranges(end);
    LaunchEvents& launches = content_.launches.events;
    int64_t cut = 0, furthest_ns = 0;
    for (size_t i = 0; i < launches.size(); ++i) {
      const int64_t late_ns = launches.start[i] + launches.duration_ns[i] - end;
      if (late_ns <= lateness(end)) continue;
      launches.duration_ns[i] = end - launches.start[i];
      furthest_ns = std::max(furthest_ns, late_ns);
      ++cut;
    }
    report("launch-end-out-of-range", cut, furthest_ns, "host calls end after everything else that was recorded");
  }

  // How far behind all else a row of the host may end.
  int64_t lateness(LocalNs end) const {
    return recording_end_ ? std::max(*recording_end_ - end, int64_t{0}) + kLate_ns : kLateUnbounded_ns;
  }

  // Steps follow each other; the last one, and ranges of collectives on the host, end with recording.
  void cut_ranges(LocalNs end) {
    std::vector<StepRow>& steps = content_.steps;
    std::vector<int64_t> durations;
    std::vector<size_t> order;
    for (size_t i = 0; i < steps.size(); ++i) {
      durations.push_back(steps[i].duration_ns);
      order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::tie(steps[a].thread, steps[a].start) < std::tie(steps[b].thread, steps[b].start);
    });
    const int64_t usual = durations.empty() ? 0 : median_of(std::move(durations));
    int64_t cut = 0, furthest_ns = 0;
    for (size_t k = 0; k < order.size(); ++k) {
      StepRow& step = steps[order[k]];
      const StepRow* next = k + 1 < order.size() ? &steps[order[k + 1]] : nullptr;
      const bool follows = next != nullptr && next->thread == step.thread && next->start > step.start;
      const LocalNs latest = follows ? std::min(end, next->start) : end;
      const int64_t late_ns = step.start + step.duration_ns - latest;
      const int64_t allowed_ns = latest < end ? kLate_ns : lateness(end);
      const bool unusual = steps.size() < kOthersToTell || step.duration_ns > kUnusual * usual;
      if (late_ns <= allowed_ns || !unusual) continue;
      step.duration_ns = latest - step.start;
      furthest_ns = std::max(furthest_ns, late_ns);
      ++cut;
    }
    report("step-end-out-of-range", cut, furthest_ns,
           "ProfilerStep ranges end after the next one, or after everything else");
    cut_calls(end);
  }

  // Ranges of collectives end with recording, or, where its end is not known, with the last step. Where one of a
  // backend of the host ends behind that, its end is not known: others may have kept it waiting.
  void cut_calls(LocalNs end) {
    LocalNs latest = recording_end_.value_or(end);
    if (!recording_end_) {
      if (content_.steps.empty()) return;
      for (const StepRow& step : content_.steps) latest = std::max(latest, step.start + step.duration_ns);
    }
    int64_t cut = 0, open = 0, furthest_ns = 0, furthest_open_ns = 0;
    for (CommOpRow& op : content_.comm_ops) {
      const int64_t late_ns = op.start + op.duration_ns - latest;
      if (late_ns <= (recording_end_ ? kLate_ns : kLateUnbounded_ns) || op.start > latest) continue;
      const bool on_host = is_host_backend(content_.strings.view(op.name));
      op.duration_ns = on_host ? 0 : latest - op.start;
      int64_t& furthest = on_host ? furthest_open_ns : furthest_ns;
      furthest = std::max(furthest, late_ns);
      ++(on_host ? open : cut);
    }
    report("call-end-out-of-range", cut, furthest_ns, "host ranges of collectives end after recording");
    report("call-end-not-known", open, furthest_open_ns, "host collectives end after recording or after the last step",
           "their ends are not known");
  }

  void report(FindingCode code, int64_t count, int64_t furthest_ns, const char* what, const char* done = "cut there") {
    ingest::report(content_, Severity::warning, code, count,
                   fmt::format("{}: {}, by up to {}; {}", what, count, long_time_words(furthest_ns), done));
  }

  FileContent& content_;
  std::vector<SyncRow> syncs_;  // by start
  std::optional<LocalNs> recording_end_;
  std::unordered_map<size_t, int64_t> usual_;  // by name; -1: too few
  int64_t asked_ = 0;
  LocalNs latest_{INT64_MIN};  // that anything began, or that the host had waited for
};

}  // namespace

void cut_late_ends(FileContent& content) { LateEnds(content).cut(); }

}  // namespace skewscope::ingest
