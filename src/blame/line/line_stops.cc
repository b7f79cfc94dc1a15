#include "line_stops.h"

#include <algorithm>

#include "skewscope/base/middle.h"

namespace skewscope::blame {
namespace {

constexpr int64_t kMostLatency_ns = 50'000;  // a launch that took longer waited for something
constexpr int64_t kUsualLatency_ns = 10'000;

bool on_line(const GpuEvents& gpu, size_t row) {
  return gpu.work[row] != GpuWork::communication && gpu.duration_ns[row] > 0;
}

class StopFinder {
 public:
  StopFinder(const RankTrace& trace, const std::vector<CallEnd>& ends, int64_t latency_ns)
      : gpu_(trace.gpu), launches_(trace.launches), ends_(ends), latency_ns_(latency_ns) {}

  Column<Stop> find() {
    int64_t busy_until = INT64_MIN;
    for (size_t i = 0; i < gpu_.size(); ++i) {
      if (!on_line(gpu_, i)) continue;
      const int64_t start = gpu_.start[i].ns;
      const Launch launch = launch_of(i);
      if (busy_until == INT64_MIN) {
        skip_ends(start);
      } else if (start <= busy_until) {
        add_if_sparing(start, launch);
      } else {
        add_gap(busy_until, start, launch);
      }
      busy_until = std::max(busy_until, start + gpu_.duration_ns[i]);
    }
    return std::move(stops_);
  }

 private:
  Launch launch_of(size_t row) const {
    if (gpu_.launch[row] < 0) return {};
    return launch_at(launches_.start[static_cast<size_t>(gpu_.launch[row])].ns, gpu_.start[row].ns, latency_ns_);
  }

  void skip_ends(int64_t until) {
    while (next_end_ < ends_.size() && ends_[next_end_].ns <= until) ++next_end_;
  }

  void add_gap(int64_t begin, int64_t start, Launch launch) {
    skip_ends(begin);
    const size_t first = next_end_;
    skip_ends(start);
    const CallEnd* joined = next_end_ > first ? &ends_[next_end_ - 1] : nullptr;
    const int64_t ready = joined == nullptr ? begin : joined->ns;
    const bool launched_last = launch.known() && launch.ns + launch.delay_ns >= ready;
    if (joined == nullptr && !launched_last) return add_if_sparing(start, launch);
    Stop stop{begin, launched_last ? start : ready, start, joined == nullptr ? -1 : joined->fork, launch};
    if (launched_last) stop.launch.delay_ns = start - launch.ns;
    if (!launch.known()) stop.to_ns = stop.until_ns;
    least_spare_ns_ = launch.known() ? start - launch.ns - stop.launch.delay_ns : INT64_MAX;
    stops_.push_back(stop);
  }

  void add_if_sparing(int64_t start, Launch launch) {
    const int64_t spare = launch.known() ? start - launch.ns - launch.delay_ns : INT64_MAX;
    if (spare >= least_spare_ns_) return;
    least_spare_ns_ = spare;
    stops_.push_back({start, start, start, -1, launch});
  }

  const GpuEvents& gpu_;
  const LaunchEvents& launches_;
  const std::vector<CallEnd>& ends_;
  int64_t latency_ns_;
  size_t next_end_ = 0;
  int64_t least_spare_ns_ = INT64_MAX;
  Column<Stop> stops_;
};

}  // namespace

int64_t launch_latency_ns(const GpuEvents& gpu, const LaunchEvents& launches) {
  std::vector<int64_t> idle;
  int64_t busy_until = INT64_MIN, least = INT64_MAX;
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (!on_line(gpu, i)) continue;
    if (gpu.launch[i] >= 0) {
      const int64_t launch = launches.start[static_cast<size_t>(gpu.launch[i])].ns, latency = gpu.start[i].ns - launch;
      if (latency >= 0) least = std::min(least, latency);
      if (latency >= 0 && launch > busy_until) idle.push_back(latency);
    }
    busy_until = std::max(busy_until, gpu.start[i].ns + gpu.duration_ns[i]);
  }
  if (idle.empty()) return least == INT64_MAX ? 0 : std::min(least, kUsualLatency_ns);
  return std::min(take_nth(idle, idle.size() / 4), kMostLatency_ns);
}

Launch launch_at(int64_t launch_ns, int64_t start_ns, int64_t latency_ns) {
  return launch_ns > start_ns ? Launch() : Launch{launch_ns, std::min(latency_ns, start_ns - launch_ns)};
}

void merge_launch_stops(const std::vector<int64_t>& bounds, Column<Stop>& stops) {
  const auto for_launch = [](const Stop& stop) {
    return stop.fork < 0 && stop.launch.known() && stop.until_ns == stop.to_ns;
  };
  size_t kept = 0, bound = 0, run = 0;  // run: stops in the one that the last kept stop ends
  for (const Stop& stop : stops) {
    bool apart = !for_launch(stop);
    for (; bound < bounds.size() && bounds[bound] <= stop.from_ns; ++bound) apart = true;
    run = apart ? 0 : run + 1;
    if (apart && for_launch(stop)) run = 1;
    if (run > 2) {
      const Stop& last = stops[kept - 1];
      const int64_t idle_ns = last.idle_ns + last.to_ns - last.from_ns;
      stops[kept - 1] = stop;
      stops[kept - 1].idle_ns = idle_ns;
    } else {
      stops[kept++] = stop;
    }
  }
  stops.resize(kept);
}

Column<Stop> line_stops(const RankTrace& trace, const std::vector<CallEnd>& ends, int64_t latency_ns) {
  return StopFinder(trace, ends, latency_ns).find();
}

}  // namespace skewscope::blame
