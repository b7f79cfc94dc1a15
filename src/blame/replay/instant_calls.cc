#include "instant_calls.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "line_runner.h"
#include "skewscope/base/sort_runs.h"

namespace skewscope::blame {
namespace {

constexpr double kMostReplayError = 0.01;  // of the recorded length

// The call of a fork starts or ends. What starts as another call ends may have waited for it.
struct CallMoment {
  int64_t ns;
  enum Kind : uint8_t { end, start, end_of_instant } kind;
  uint32_t fork;
};

std::vector<CallMoment> moments_of(const RankTrace& trace, const RankLine& line) {
  std::vector<CallMoment> moments;
  moments.reserve(2 * line.forks.size());
  for (uint32_t fork = 0; fork < line.forks.size(); ++fork) {
    const CollectiveCall& call = trace.calls[static_cast<size_t>(line.forks[fork].call)];
    const bool takes_time = call.duration_ns > 0;
    moments.push_back({call.start.ns, CallMoment::start, fork});
    moments.push_back({call.end().ns, takes_time ? CallMoment::end : CallMoment::end_of_instant, fork});
  }
  sort_runs(moments, [](const CallMoment& a, const CallMoment& b) {
    return std::tie(a.ns, a.kind, a.fork) < std::tie(b.ns, b.kind, b.fork);
  });
  return moments;
}

// First to last, of its line and of its calls.
int64_t recorded_alone_ns(const JobView& view, TraceIndex trace, const RankLine& line) {
  int64_t last_ns = line.last_ns;
  for (const CollectiveCall& call : view.job[trace].calls) {
    last_ns = std::max(last_ns, view.clocks.to_job(trace, call.end()).ns);
  }
  return last_ns - line.first_ns;
}

}  // namespace

int64_t saved_by_instant_calls(const JobView& view, TraceIndex trace, const RankLine& line) {
  if (line.blind) return -1;
  constexpr size_t kAsRecorded = 0, kInstant = 1;  // replayed abreast
  const Paces own;
  LineRunner runner(line, own, {});
  std::vector<Abreast> starts(line.forks.size());
  for (const CallMoment& moment : moments_of(view.job[trace], line)) {
    Abreast& start = starts[moment.fork];
    if (moment.kind == CallMoment::start) {
      start = runner.start_of(moment.fork);
      continue;
    }
    Abreast end = start;
    end[kAsRecorded] += line.forks[moment.fork].duration_ns;
    runner.set_end(moment.fork, end);
  }
  const Abreast last = runner.finish(), first = runner.first();
  const int64_t recorded_ns = recorded_alone_ns(view, trace, line);
  const int64_t error_ns = (last[kAsRecorded] - first[kAsRecorded]) - recorded_ns;
  if (static_cast<double>(std::abs(error_ns)) > kMostReplayError * static_cast<double>(recorded_ns)) return -1;
  return std::max<int64_t>(0, recorded_ns + error_ns - (last[kInstant] - first[kInstant]));
}

}  // namespace skewscope::blame
