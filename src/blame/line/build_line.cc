#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "line_stops.h"
#include "rank_line.h"
#include "skewscope/base/sort_runs.h"

namespace skewscope::blame {
namespace {

constexpr int32_t kLastLaunched = 16;
constexpr int64_t kWakeUp_ns = 100'000;  // what a thread takes at most to go on behind the GPU

struct Interval {
  int64_t begin, end;
};

// Rows that compute or copy, put together where they touch; local clock.
std::vector<Interval> busy_of(const GpuEvents& gpu) {
  std::vector<Interval> busy;
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (gpu.work[i] == GpuWork::communication || gpu.duration_ns[i] == 0) continue;
    const int64_t begin = gpu.start[i].ns, end = begin + gpu.duration_ns[i];
    if (!busy.empty() && begin <= busy.back().end) {
      busy.back().end = std::max(busy.back().end, end);
    } else {
      busy.push_back({begin, end});
    }
  }
  return busy;
}

// Ends of rows, asked for in any order; those of one stream come in order.
class PastEnds {
 public:
  void add(int64_t end_ns) {
    if (ends_.empty() || ends_.back() <= end_ns) {
      ends_.push_back(end_ns);
    } else {
      ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), end_ns), end_ns);
    }
  }
  // The last one until then; the beginning of time: none.
  int64_t last_until(int64_t ns) const {
    if (ends_.empty() || ends_.back() <= ns) return ends_.empty() ? INT64_MIN : ends_.back();
    const auto behind = std::upper_bound(ends_.begin(), ends_.end(), ns);
    return behind == ends_.begin() ? INT64_MIN : *std::prev(behind);
  }

 private:
  std::vector<int64_t> ends_;  // ascending
};

class LineBuilder {
 public:
  LineBuilder(const JobView& view, TraceIndex trace)
      : view_(view),
        index_(trace),
        trace_(view.job[trace]),
        busy_(busy_of(trace_.gpu)),
        latency_ns_(launch_latency_ns(trace_.gpu, trace_.launches)),
        begin_(first_launched(trace_)) {}

  RankLine build() {
    line_.blind = trace_.gpu.size() == 0;
    line_.begin = begin_;
    line_.latency_ns = latency_ns_;
    const std::vector<LaunchedRow> rows = launched_rows(trace_);
    add_forks(rows);
    const std::vector<CallEnd> ends = ends_of_calls();
    add_stops(ends);
    set_window();
    set_host(rows, ends);
    merge_launch_stops(bounds(), line_.stops);
    line_.stops.shrink_to_fit();
    line_.forks.shrink_to_fit();
    add_work();
    return std::move(line_);
  }

 private:
  int64_t common(int64_t local_ns) const { return view_.clocks.to_job(index_, LocalNs{local_ns}).ns; }
  Launch common(const Launch& local) const {
    if (!local.known()) return local;
    const int64_t ns = common(local.ns);
    return {ns, std::max<int64_t>(0, common(local.ns + local.delay_ns) - ns)};
  }

  // When each call was launched; one whose launch the trace lacks: with the call in front of it on its stream. A call
  // of the host needs no launch.
  std::vector<LocalNs> launches() const {
    std::vector<LocalNs> launched;
    std::map<int32_t, LocalNs> last_on_stream;
    for (const CollectiveCall& call : trace_.calls) {
      const auto before = last_on_stream.find(call.stream);
      const LocalNs guess = before == last_on_stream.end() ? call.start : std::min(before->second, call.start);
      launched.push_back(call.launched ? call.launch_start : beside_gpu(call) ? call.start : guess);
      last_on_stream[call.stream] = launched.back();
    }
    return launched;
  }

  // Where the line had come to when a call began: the end of its last row, or the call's start within a row.
  int64_t line_at(LocalNs start) const {
    const auto after = std::partition_point(busy_.begin(), busy_.end(),
                                            [&](const Interval& interval) { return interval.begin < start.ns; });
    return after == busy_.begin() ? start.ns : std::min(std::prev(after)->end, start.ns);
  }

  void add_forks(const std::vector<LaunchedRow>& rows) {
    const Column<CollectiveCall>& calls = trace_.calls;
    const std::vector<LocalNs> launch = launches();
    std::vector<int32_t> order(calls.size());
    for (size_t c = 0; c < order.size(); ++c) order[c] = static_cast<int32_t>(c);
    sort_runs(order,
              [&](int32_t a, int32_t b) { return launch[static_cast<size_t>(a)] < launch[static_cast<size_t>(b)]; });
    std::map<int32_t, int32_t> last_on_stream;
    size_t next = 0;
    int64_t host_calls_until = INT64_MIN;
    PastEnds past;  // of the rows launched so far that had ended when some call began
    std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> running;  // ends of those that had not
    for (const int32_t c : order) {
      const CollectiveCall& call = calls[static_cast<size_t>(c)];
      // Rows of one graph share its launch with the calls in it.
      for (; next < rows.size() && rows[next].launch_ns <= launch[static_cast<size_t>(c)].ns; ++next) {
        if (rows[next].work != GpuWork::communication) running.push(rows[next].end_ns);
      }
      for (; !running.empty() && running.top() <= call.start.ns; running.pop()) past.add(running.top());
      const int64_t work_end = past.last_until(call.start.ns);
      Fork fork;
      fork.call = c;
      fork.row = view_.row_of_call[index_.index()][static_cast<size_t>(c)];
      fork.at = work_end == INT64_MIN ? LocalNs{line_at(call.start)} : LocalNs{work_end};
      fork.at_ns = common(fork.at.ns);
      fork.duration_ns = call.duration_ns;
      fork.before_recording = !call.launched && call.start < begin_;
      fork.before = waited_for(call, fork.at.ns, last_on_stream);
      const int64_t ready = fork.before < 0 ? fork.at.ns : std::max(fork.at.ns, end_of(fork.before));
      last_on_stream[call.stream] = static_cast<int32_t>(line_.forks.size());
      set_launch(call, ready, !running.empty() || host_calls_until > call.start.ns, fork);
      if (beside_gpu(call)) host_calls_until = std::max(host_calls_until, call.end().ns);
      line_.forks.push_back(fork);
    }
    sort_forks();
  }

  // It ran on the host of a trace that has GPU rows.
  bool beside_gpu(const CollectiveCall& call) const { return !line_.blind && call.gpu_row < 0; }

  // `ready`: when line and stream allow the call to start. Where something else runs on, a call of the host that begins
  // soon after waited for the line alone: the host launches ahead, and another thread makes the call.
  void set_launch(const CollectiveCall& call, int64_t ready, bool runs_on, Fork& fork) const {
    Launch launch = call.launched ? launch_at(call.launch_start.ns, call.start.ns, latency_ns_) : Launch();
    const bool ahead = runs_on && call.start.ns - ready <= kWakeUp_ns;
    if (beside_gpu(call) && !ahead) launch = {call.start.ns, 0};
    if (launch.known() && launch.ns + launch.delay_ns >= ready) {
      launch.delay_ns = call.start.ns - launch.ns;
    } else {
      fork.delay_ns = std::max<int64_t>(0, call.start.ns - ready);
    }
    fork.launch = common(launch);
  }

  // In the order in which the line comes to them.
  void sort_forks() {
    std::vector<int32_t> order(line_.forks.size()), place(line_.forks.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int32_t>(k);
    sort_runs(order, [&](int32_t a, int32_t b) {
      return line_.forks[static_cast<size_t>(a)].at_ns < line_.forks[static_cast<size_t>(b)].at_ns;
    });
    for (size_t k = 0; k < order.size(); ++k) place[static_cast<size_t>(order[k])] = static_cast<int32_t>(k);
    Column<Fork> forks;
    for (const int32_t k : order) {
      forks.push_back(line_.forks[static_cast<size_t>(k)]);
      if (forks.back().before >= 0) forks.back().before = place[static_cast<size_t>(forks.back().before)];
    }
    line_.forks = std::move(forks);
  }

  int64_t end_of(int32_t fork) const {
    return trace_.calls[static_cast<size_t>(line_.forks[static_cast<size_t>(fork)].call)].end().ns;
  }

  // The fork of the call that a call forked at `at` waited for last: the one in front of it on its stream, or one of
  // the last launched before it that ended just before it began. -1: none.
  int32_t waited_for(const CollectiveCall& call, int64_t at, const std::map<int32_t, int32_t>& last_on_stream) const {
    const auto on_stream = last_on_stream.find(call.stream);
    int32_t best = on_stream == last_on_stream.end() ? -1 : on_stream->second;
    const auto forks = static_cast<int32_t>(line_.forks.size());
    for (int32_t fork = std::max(0, forks - kLastLaunched); fork < forks; ++fork) {
      const int64_t end = end_of(fork);
      const bool just_before = end > at && end <= call.start.ns && call.start.ns - end <= kEventDelay_ns;
      if (just_before && (best < 0 || end > end_of(best))) best = fork;
    }
    return best;
  }

  std::vector<CallEnd> ends_of_calls() const {
    std::vector<CallEnd> ends;
    for (size_t k = 0; k < line_.forks.size(); ++k) {
      const CollectiveCall& call = trace_.calls[static_cast<size_t>(line_.forks[k].call)];
      ends.push_back({call.end().ns, static_cast<int32_t>(k)});
    }
    sort_runs(ends, [](const CallEnd& a, const CallEnd& b) { return a.ns < b.ns; });
    return ends;
  }

  void add_stops(const std::vector<CallEnd>& ends) {
    if (line_.blind) {
      for (const CallEnd& end : ends) {
        const CollectiveCall& call = trace_.calls[static_cast<size_t>(line_.forks[static_cast<size_t>(end.fork)].call)];
        line_.stops.push_back({common(call.start.ns), common(end.ns), common(end.ns), end.fork, {}});
      }
      return;
    }
    line_.stops = line_stops(trace_, ends, latency_ns_);
    for (Stop& stop : line_.stops) {
      stop.from_ns = common(stop.from_ns);
      if (stop.fork >= 0) stop.from_ns = std::max(stop.from_ns, line_.forks[static_cast<size_t>(stop.fork)].at_ns);
      stop.until_ns = common(stop.until_ns);
      stop.to_ns = common(stop.to_ns);
      stop.launch = common(stop.launch);
    }
  }

  void set_window() {
    int64_t first = INT64_MAX, last = INT64_MIN;
    Launch launch;
    if (!busy_.empty()) {
      first = busy_.front().begin;
      last = busy_.back().end;
      launch = launch_of_first_row();
    }
    for (const CollectiveCall& call : trace_.calls) {
      if (call.start.ns < first) {
        first = call.start.ns;
        launch = call.launched ? launch_at(call.launch_start.ns, first, INT64_MAX) : Launch();
      }
      if (line_.blind) last = std::max(last, call.end().ns);
    }
    if (first == INT64_MAX) return;
    if (begin_.ns > first) {
      first = begin_.ns;
      launch = launch_of_begin();
    }
    line_.first_ns = common(first);
    line_.last_ns = std::max(line_.first_ns, common(std::max(first, last)));
    line_.first = common(launch);
  }

  Launch launch_of_begin() const {
    for (const CollectiveCall& call : trace_.calls) {
      if (call.launched && call.start == begin_) return launch_at(call.launch_start.ns, begin_.ns, INT64_MAX);
    }
    const GpuEvents& gpu = trace_.gpu;
    auto row = static_cast<size_t>(std::lower_bound(gpu.start.begin(), gpu.start.end(), begin_) - gpu.start.begin());
    while (gpu.launch[row] < 0) ++row;
    return launch_at(trace_.launches.start[static_cast<size_t>(gpu.launch[row])].ns, begin_.ns, INT64_MAX);
  }

  Launch launch_of_first_row() const {
    const GpuEvents& gpu = trace_.gpu;
    size_t row = 0;
    while (gpu.work[row] == GpuWork::communication || gpu.duration_ns[row] == 0) ++row;
    if (gpu.launch[row] < 0) return {};
    return launch_at(trace_.launches.start[static_cast<size_t>(gpu.launch[row])].ns, gpu.start[row].ns, INT64_MAX);
  }

  std::vector<int64_t> bounds() const {
    std::vector<int64_t> bounds;
    for (const Fork& fork : line_.forks) bounds.push_back(fork.at_ns);
    const auto forks = static_cast<ptrdiff_t>(bounds.size());
    for (const HostWait& wait : line_.host.waits) bounds.push_back(wait.line_ns);
    std::inplace_merge(bounds.begin(), bounds.begin() + forks, bounds.end());
    return bounds;
  }

  // Time on the line between neighbouring forks without what is explained of the idling there.
  void add_work() {
    size_t next = 0;
    int64_t at = line_.first_ns;
    while (next < line_.stops.size() && line_.stops[next].to_ns <= at) ++next;
    for (Fork& fork : line_.forks) {
      fork.at_ns = std::max(fork.at_ns, at);
      if (fork.before_recording) {
        fork.delay_ns = common(trace_.calls[static_cast<size_t>(fork.call)].start.ns) - fork.at_ns;
      }
      fork.work_ns = fork.at_ns - at;
      for (; next < line_.stops.size() && line_.stops[next].from_ns < fork.at_ns; ++next) {
        const Stop& stop = line_.stops[next];
        fork.work_ns -= std::min(stop.until_ns, fork.at_ns) - std::max(stop.from_ns, at) + stop.idle_ns;
      }
      fork.work_ns = std::max<int64_t>(0, fork.work_ns);
      at = fork.at_ns;
    }
  }

  HostEnds ends_before_recording() const {
    HostEnds ends;
    const GpuEvents& gpu = trace_.gpu;
    for (size_t i = 0; i < gpu.size() && gpu.start[i] < begin_; ++i) {
      if (gpu.launch[i] < 0 && gpu.duration_ns[i] > 0) ends.add(gpu.start[i].ns + gpu.duration_ns[i], gpu.work[i]);
    }
    return ends;
  }

  void set_host(const std::vector<LaunchedRow>& rows, const std::vector<CallEnd>& ends) {
    HostLine& host = line_.host;
    int64_t from = INT64_MIN;  // the host waited for what came before the recording
    for (const HostWait& wait : host_waits(rows, trace_.synchronizing, ends, ends_before_recording())) {
      if (wait.until_ns <= begin_.ns) {
        from = wait.until_ns;
      } else {
        host.waits.push_back({common(wait.from_ns), common(wait.until_ns), common(wait.line_ns), wait.fork});
      }
    }
    int64_t first = rows.empty() ? INT64_MAX : rows.front().launch_ns;
    for (size_t k = 0; k < line_.forks.size(); ++k) {
      if (!line_.forks[k].launch.known()) continue;
      first = std::min(first, trace_.calls[static_cast<size_t>(line_.forks[k].call)].launch_start.ns);
      host.forks.push_back(static_cast<int32_t>(k));
    }
    sort_runs(host.forks, [&](int32_t a, int32_t b) {
      return line_.forks[static_cast<size_t>(a)].launch.ns < line_.forks[static_cast<size_t>(b)].launch.ns;
    });
    if (first == INT64_MAX) return;
    if (!trace_.steps.empty()) first = std::min(first, trace_.steps.front().start.ns);
    host.first_ns = common(std::max(first, from));
    add_host_time();
    add_pauses(rows);
  }

  // The host's own time between neighbouring launches of calls.
  void add_host_time() {
    size_t next = 0;
    int64_t at = line_.host.first_ns;
    const Column<HostWait>& waits = line_.host.waits;
    for (const int32_t k : line_.host.forks) {
      Fork& fork = line_.forks[static_cast<size_t>(k)];
      fork.host_ns = fork.launch.ns - at;
      for (; next < waits.size() && waits[next].until_ns <= fork.launch.ns; ++next) {
        fork.host_ns -= waits[next].until_ns - std::max(waits[next].from_ns, at);
      }
      fork.host_ns = std::max<int64_t>(0, fork.host_ns);
      at = std::max(at, fork.launch.ns);
    }
  }

  void add_pauses(const std::vector<LaunchedRow>& rows) {
    const Column<HostWait>& waits = line_.host.waits;
    size_t row = 0, wait = 0;
    int64_t at = line_.host.first_ns;
    for (const int32_t k : line_.host.forks) {
      const Fork& fork = line_.forks[static_cast<size_t>(k)];
      HostPause pause;
      const auto stretch = [&](int64_t to) {
        if (to - at > pause.length_ns) pause = {at, to - at};
        at = std::max(at, to);
      };
      for (;;) {
        const int64_t launch_ns = row < rows.size() ? common(rows[row].launch_ns) : INT64_MAX;
        const int64_t wait_ns = wait < waits.size() ? waits[wait].from_ns : INT64_MAX;
        if (std::min(launch_ns, wait_ns) >= fork.launch.ns) break;
        stretch(std::min(launch_ns, wait_ns));
        if (wait_ns < launch_ns) at = std::max(at, waits[wait++].until_ns);
        if (launch_ns <= wait_ns) ++row;
      }
      stretch(fork.launch.ns);
      pause.length_ns = std::min(pause.length_ns, fork.host_ns);
      line_.host.pauses.push_back(pause);
    }
  }

  const JobView& view_;
  TraceIndex index_;
  const RankTrace& trace_;
  std::vector<Interval> busy_;
  int64_t latency_ns_;
  LocalNs begin_;
  RankLine line_;
};

}  // namespace

RankLine build_line(const JobView& view, TraceIndex trace) { return LineBuilder(view, trace).build(); }

}  // namespace skewscope::blame
