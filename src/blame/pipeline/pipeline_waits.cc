#include "pipeline_waits.h"

#include <algorithm>
#include <map>

namespace skewscope::blame {
namespace {

// A call that a line may wait for.
struct AwaitedCall {
  int64_t start_ns, come_ns, end_ns;  // come: the last that it needs
  bool message;
};

// Calls of a trace by end, and the spans of those that hold the line.
struct CallsOfRank {
  std::vector<AwaitedCall> awaited;
  std::vector<TimeSpan> holding;
};

CallsOfRank calls_of(const ReplayPlan& plan, TraceIndex trace, const std::vector<PipelineCall>& kind) {
  const JobView& view = plan.view;
  CallsOfRank calls;
  for (const int32_t number : view.row_of_call[trace.index()]) {
    if (number < 0) continue;
    const auto row = static_cast<size_t>(number);
    const PipelineCall own = kind[static_cast<size_t>(view.instance_of_row[row])];
    if (own == PipelineCall::none) continue;
    const int64_t start = view.start(row).ns, end = view.end(row).ns;
    if (own == PipelineCall::holds) {
      calls.holding.push_back({start, end});
    } else {
      const int64_t come = std::min(end, start + view.d.members[row].wait_ns);
      calls.awaited.push_back({start, come, end, own == PipelineCall::message});
    }
  }
  std::sort(calls.awaited.begin(), calls.awaited.end(),
            [](const AwaitedCall& a, const AwaitedCall& b) { return a.end_ns < b.end_ns; });
  return calls;
}

// The part of each stop up to the launch of its row or call, where that launch came last.
int64_t host_idle_ns(const ReplayPlan& plan, TraceIndex trace) {
  const RankLine& line = plan.lines[trace.index()];
  if (line.blind) return 0;
  int64_t idle = 0;
  for (const Stop& stop : line.stops) {
    const bool launched_last = stop.launch.known() && stop.until_ns == stop.to_ns;
    idle += stop.idle_ns;
    if (stop.fork < 0) {
      idle += launched_last ? stop.to_ns - stop.from_ns : 0;
      continue;
    }
    const Fork& fork = line.forks[static_cast<size_t>(stop.fork)];
    const CollectiveCall& call = plan.view.job[trace].calls[static_cast<size_t>(fork.call)];
    const int64_t start = plan.view.clocks.to_job(trace, call.start).ns;
    const int64_t end = plan.view.clocks.to_job(trace, call.end()).ns;
    if (fork.launch.known() && fork.delay_ns == 0) idle += std::max<int64_t>(0, start - stop.from_ns);
    if (launched_last) idle += std::max<int64_t>(0, stop.to_ns - end);
  }
  return idle;
}

}  // namespace

TimeSpans::TimeSpans(std::vector<TimeSpan> spans) {
  std::sort(spans.begin(), spans.end(), [](const TimeSpan& a, const TimeSpan& b) { return a.from_ns < b.from_ns; });
  for (const TimeSpan& span : spans) {
    if (span.to_ns <= span.from_ns) continue;
    if (!spans_.empty() && span.from_ns <= spans_.back().to_ns) {
      spans_.back().to_ns = std::max(spans_.back().to_ns, span.to_ns);
    } else {
      spans_.push_back(span);
    }
  }
  before_.push_back(0);
  for (const TimeSpan& span : spans_) before_.push_back(before_.back() + span.to_ns - span.from_ns);
}

int64_t TimeSpans::until(int64_t ns) const {
  const auto behind =
      std::partition_point(spans_.begin(), spans_.end(), [&](const TimeSpan& s) { return s.from_ns < ns; });
  const auto k = static_cast<size_t>(behind - spans_.begin());
  return k == 0 ? 0 : before_[k] - std::max<int64_t>(0, spans_[k - 1].to_ns - ns);
}

int64_t TimeSpans::within(int64_t from_ns, int64_t to_ns) const {
  return to_ns <= from_ns ? 0 : until(to_ns) - until(from_ns);
}

TimeSpans less(const TimeSpans& of, const TimeSpans& without) {
  std::vector<TimeSpan> left;
  size_t next = 0;
  for (TimeSpan span : of.spans()) {
    while (next < without.spans().size() && without.spans()[next].to_ns <= span.from_ns) ++next;
    for (size_t k = next; k < without.spans().size() && without.spans()[k].from_ns < span.to_ns; ++k) {
      left.push_back({span.from_ns, without.spans()[k].from_ns});
      span.from_ns = without.spans()[k].to_ns;
    }
    left.push_back(span);
  }
  return TimeSpans(std::move(left));
}

PipelineWaits pipeline_waits(const ReplayPlan& plan, TraceIndex trace, const std::vector<PipelineCall>& kind) {
  CallsOfRank calls = calls_of(plan, trace, kind);
  std::vector<TimeSpan> waits, hops;
  size_t next = 0;
  for (const Stop& stop : plan.lines[trace.index()].stops) {
    while (next < calls.awaited.size() && calls.awaited[next].end_ns <= stop.from_ns) ++next;
    for (; next < calls.awaited.size() && calls.awaited[next].end_ns <= stop.to_ns; ++next) {
      const AwaitedCall& call = calls.awaited[next];
      waits.push_back({std::max(stop.from_ns, call.start_ns), call.come_ns});
      if (call.message) hops.push_back({std::max(stop.from_ns, call.come_ns), call.end_ns});
    }
  }
  const TimeSpans holding(std::move(calls.holding));
  PipelineWaits out{less(TimeSpans(std::move(waits)), holding), {}, host_idle_ns(plan, trace)};
  out.hops = less(less(TimeSpans(std::move(hops)), holding), out.waits);
  return out;
}

std::vector<PipelineCall> pipeline_calls(const ReplayPlan& plan, const std::vector<int32_t>& stage) {
  const JobView& view = plan.view;
  const std::vector<bool> blocking = blocking_instances(plan);
  std::vector<PipelineCall> calls(view.table.instances.size(), PipelineCall::none);
  std::map<std::pair<CommunicatorId, CollectiveKind>, int64_t> votes;  // for holding the line
  for (size_t id = 0; id < calls.size(); ++id) {
    const CollectiveInstance& i = view.instance(id);
    int32_t first = INT32_MAX, last = -1;
    for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      const int32_t own = stage[view.ref(row).trace.index()];
      first = std::min(first, own);
      last = std::max(last, own);
    }
    if (last < 0) continue;
    const bool split = view.d.instances[id].reason == SplitReason::split;
    if (carries_messages(i.kind)) {
      calls[id] = split ? PipelineCall::message : PipelineCall::none;
    } else if (first != last) {
      calls[id] = split ? PipelineCall::of_stages : PipelineCall::none;
    } else {
      votes[{i.communicator, i.kind}] += blocking[id] ? 1 : -1;
    }
  }
  for (size_t id = 0; id < calls.size(); ++id) {
    const CollectiveInstance& i = view.instance(id);
    if (calls[id] != PipelineCall::none || carries_messages(i.kind)) continue;
    const auto vote = votes.find({i.communicator, i.kind});
    if (vote != votes.end() && vote->second > 0) calls[id] = PipelineCall::holds;
  }
  return calls;
}

}  // namespace skewscope::blame
