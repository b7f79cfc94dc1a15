#include "blocking.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "skewscope/base/sort_runs.h"
#include "stream_order.h"

namespace skewscope::blame {
namespace {

// A host that waited for a call launches what comes next within this time of the call's end, or within this share of
// its pause: one that paused for another reason hardly ends its pause there by chance.
constexpr int64_t kHostReturns_ns = 100'000, kHostReturns = 10;

// A row of communication, or the row that ends a gap.
struct TimedRow {
  int64_t start_ns, end_ns;
  int32_t gpu_row, stream;
  bool launch_known;
  int64_t launch_ns, arrival_ns;  // where the launch is known
};

class ExposedRows {
 public:
  ExposedRows(const RankTrace& trace, int64_t latency_ns, LocalNs begin)
      : gpu_(trace.gpu), launches_(trace.launches), order_(trace), latency_ns_(latency_ns), begin_(begin) {}

  ExposedTime split() {
    for (size_t i = 0; i < gpu_.size(); ++i) {
      if (gpu_.duration_ns[i] == 0) continue;
      if (gpu_.work[i] == GpuWork::communication) {
        calls_.push_back(timed(i));
        continue;
      }
      const int64_t start = gpu_.start[i].ns, end = start + gpu_.duration_ns[i];
      if (start > worked_until_) explain_gap(i);
      worked_until_ = std::max(worked_until_, end);
      if (gpu_.work[i] == GpuWork::memcpy) continue;
      count_exposed_until(start);
      computed_until_ = std::max(computed_until_, end);
    }
    found_.sums.unknown_ns += communicating_ns(worked_until_, INT64_MAX);
    count_exposed_until(INT64_MAX);
    found_.sums.coincided_ns = exposed_ns_ - found_.sums.blocking_ns - found_.sums.unknown_ns;
    sort_runs(found_.blocked, [](const BlockedSpan& a, const BlockedSpan& b) { return a.from_ns < b.from_ns; });
    return std::move(found_);
  }

 private:
  // What runs before the first row that was launched in the recording, but not before the first launch, was launched
  // in front of it.
  TimedRow timed(size_t row) const {
    const int64_t start = gpu_.start[row].ns;
    TimedRow timed{
        start, start + gpu_.duration_ns[row], static_cast<int32_t>(row), gpu_.stream[row], true, INT64_MIN, INT64_MIN};
    if (gpu_.launch[row] >= 0) {
      timed.launch_ns = launches_.start[static_cast<size_t>(gpu_.launch[row])].ns;
      timed.arrival_ns = std::min(timed.launch_ns + latency_ns_, start);
    } else {
      timed.launch_known = start < begin_.ns && launches_.size() > 0 && launches_.start[0].ns < start;
    }
    return timed;
  }

  // All of it, once, whatever the calls held up. What ended by then is not asked for any more.
  void count_exposed_until(int64_t ns) {
    if (calls_.empty()) return;
    const int64_t from_ns = std::max(counted_until_, computed_until_);
    if (ns > from_ns) exposed_ns_ += communicating_ns(from_ns, ns);
    counted_until_ = std::max(counted_until_, ns);
    const int64_t until_ns = std::max(counted_until_, computed_until_);
    std::erase_if(calls_, [&](const TimedRow& call) { return call.end_ns <= until_ns; });
  }

  // Time in which any of the calls runs.
  int64_t communicating_ns(int64_t from, int64_t until) const {
    int64_t sum = 0, counted_until = from;
    for (const TimedRow& call : calls_) {
      const int64_t begin = std::max(call.start_ns, counted_until), end = std::min(call.end_ns, until);
      if (end <= begin) continue;
      sum += end - begin;
      counted_until = end;
    }
    return sum;
  }

  // The GPU neither computed nor copied until this row began.
  void explain_gap(size_t row) {
    if (calls_.empty()) return;
    by_end_ = calls_;
    std::sort(by_end_.begin(), by_end_.end(), [](const TimedRow& a, const TimedRow& b) {
      return std::tie(a.end_ns, b.start_ns) < std::tie(b.end_ns, a.start_ns);
    });
    explain(timed(row));
    count_exposed_until(gpu_.start[row].ns);
  }

  // From what `waiting` waited for back to where the GPU went idle.
  void explain(TimedRow waiting) {
    int64_t floor = worked_until_;
    for (Ended ended = last_ended(floor, waiting); ended.call != nullptr; ended = last_ended(floor, waiting)) {
      const TimedRow* call = ended.call;
      const bool behind = waiting.launch_known && waiting.launch_ns >= call->end_ns;
      const std::optional<int64_t> paused = behind ? host_paused_from(*call, waiting) : std::nullopt;
      if (behind && !paused) return;
      floor = std::max(floor, behind ? *paused : waiting.arrival_ns);
      const bool waited = behind ? host_returned_soon(*call, waiting, *paused) : joins(ended, waiting);
      if (!waiting.launch_known || !waited) {
        found_.sums.unknown_ns += communicating_ns(floor, call->end_ns);
        return;
      }
      add_blocked(std::max(floor, call->start_ns), *call);
      waiting = *call;
    }
  }

  using Tie = StreamOrder::Tie;

  struct Ended {
    const TimedRow* call = nullptr;  // null: none did
    Tie tie = Tie::open;             // of the row that began behind it
  };

  // The call that ended last, behind `floor` and no later than `waiting` began, but for those that `waiting` is known
  // not to wait for. Asked from the last to the first.
  Ended last_ended(int64_t floor, const TimedRow& waiting) {
    for (; !by_end_.empty() && by_end_.back().end_ns > floor; by_end_.pop_back()) {
      const TimedRow& call = by_end_.back();
      if (call.end_ns > waiting.start_ns) continue;
      const Tie known = tie(call, waiting);
      if (known != Tie::none) return {&call, known};
    }
    return {};
  }

  // By streams and their waits; open where these do not tell, and where only the host can have waited.
  Tie tie(const TimedRow& call, const TimedRow& waiting) {
    const int32_t launch = gpu_.launch[static_cast<size_t>(waiting.gpu_row)];
    const int32_t earlier = gpu_.launch[static_cast<size_t>(call.gpu_row)];
    if (!order_.recorded() || launch < 0 || earlier < 0 || launch == earlier) return Tie::open;
    if (waiting.launch_ns >= call.end_ns) return Tie::open;
    return order_.tie(waiting.stream, waiting.launch_ns, call.stream, call.launch_ns);
  }

  static bool joins(const Ended& ended, const TimedRow& waiting) {
    const TimedRow& call = *ended.call;
    return ended.tie == Tie::waits || call.stream == waiting.stream || waiting.start_ns - call.end_ns <= kEventDelay_ns;
  }

  // Since when the host launched nothing until all was done, the call last, and then launched `waiting`. None: it did
  // not pause, or not for that.
  std::optional<int64_t> host_paused_from(const TimedRow& call, const TimedRow& waiting) {
    const auto next = std::lower_bound(launches_.start.begin(), launches_.start.end(), LocalNs{waiting.launch_ns});
    if (next == launches_.start.begin()) return std::nullopt;
    const int64_t from_ns = std::prev(next)->ns;
    const int64_t returned_ns =
        from_ns + launches_.duration_ns[static_cast<size_t>(next - launches_.start.begin()) - 1];
    if (returned_ns >= call.end_ns || waiting.launch_ns - from_ns < long_pause()) return std::nullopt;
    const bool all_done = std::none_of(calls_.begin(), calls_.end(),
                                       [&](const TimedRow& other) { return other.end_ns > waiting.launch_ns; });
    return all_done ? std::optional(returned_ns) : std::nullopt;
  }

  static bool host_returned_soon(const TimedRow& call, const TimedRow& waiting, int64_t paused_ns) {
    const int64_t late_ns = waiting.launch_ns - call.end_ns, pause_ns = waiting.launch_ns - paused_ns;
    return late_ns <= std::max(kHostReturns_ns, pause_ns / kHostReturns);
  }

  int64_t long_pause() {
    if (long_pause_ns_ >= 0) return long_pause_ns_;
    std::vector<int64_t> pauses;
    for (size_t i = 0; i + 1 < launches_.size(); ++i) pauses.push_back(launches_.start[i + 1] - launches_.start[i]);
    return long_pause_ns_ = long_pause_among(std::move(pauses));
  }

  void add_blocked(int64_t from_ns, const TimedRow& call) {
    if (from_ns >= call.end_ns) return;
    found_.sums.blocking_ns += call.end_ns - from_ns;
    found_.blocked.push_back({from_ns, call.end_ns, call.gpu_row});
  }

  const GpuEvents& gpu_;
  const LaunchEvents& launches_;
  StreamOrder order_;
  int64_t latency_ns_;
  LocalNs begin_;
  int64_t long_pause_ns_ = -1;    // -1: not needed yet
  std::vector<TimedRow> calls_;   // that began so far and had not ended when time was counted last, by start
  std::vector<TimedRow> by_end_;  // those of the gap that is being explained
  int64_t computed_until_ = INT64_MIN, worked_until_ = INT64_MIN;
  int64_t counted_until_ = INT64_MIN, exposed_ns_ = 0;
  ExposedTime found_;
};

// What is known of the calls of one trace, by their GPU rows, which are asked for in any order.
class CallsOfRows {
 public:
  CallsOfRows(const JobView& view, TraceIndex trace) : view_(view), trace_(view.job[trace]), index_(trace) {
    for (size_t c = 0; c < trace_.calls.size(); ++c) {
      if (trace_.calls[c].gpu_row >= 0) calls_.emplace_back(trace_.calls[c].gpu_row, static_cast<int32_t>(c));
    }
    sort_runs(calls_, [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  // What of the call that is this row lies between.
  BlockedParts between(int32_t gpu_row, int64_t from_ns, int64_t until_ns) const {
    const int64_t length_ns = until_ns - from_ns;
    const int32_t row = member_of(gpu_row);
    if (row < 0) return {0, 0, length_ns, 0};
    const auto id = static_cast<size_t>(view_.instance_of_row[static_cast<size_t>(row)]);
    const InstanceTiming& timing = view_.d.instances[id];
    if (timing.reason != SplitReason::split || timing.wait_bar_ns < 0) return {0, 0, length_ns, 0};
    const int64_t middle_ns =
        view_.span(static_cast<size_t>(row)).start.ns + view_.d.members[static_cast<size_t>(row)].wait_ns;
    const int64_t wait_ns = std::clamp<int64_t>(middle_ns - from_ns, 0, length_ns);
    return {wait_ns, length_ns - wait_ns, 0, std::min(timing.wait_bar_ns, length_ns)};
  }

 private:
  // Row of table.members; -1: not matched.
  int32_t member_of(int32_t gpu_row) const {
    const auto call = std::lower_bound(calls_.begin(), calls_.end(), gpu_row,
                                       [](const auto& known, int32_t wanted) { return known.first < wanted; });
    if (call == calls_.end() || call->first != gpu_row) return -1;
    return view_.row_of_call[index_.index()][static_cast<size_t>(call->second)];
  }

  const JobView& view_;
  const RankTrace& trace_;
  TraceIndex index_;
  std::vector<std::pair<int32_t, int32_t>> calls_;  // row of the GPU, call
};

}  // namespace

ExposedTime exposed_time(const RankTrace& trace, int64_t latency_ns, LocalNs begin) {
  return ExposedRows(trace, latency_ns, begin).split();
}

StepsOfTraces::StepsOfTraces(const Decomposition& d, size_t traces) : rows_(d.trace_steps.size()), first_(traces + 1) {
  for (const TraceStep& step : d.trace_steps) ++first_[step.trace.index() + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<size_t> next(first_.begin(), first_.end() - 1);
  for (size_t row = 0; row < rows_.size(); ++row) {
    rows_[next[d.trace_steps[row].trace.index()]++] = static_cast<uint32_t>(row);
  }
}

void add_to_steps(const JobView& view, TraceIndex trace, const std::vector<BlockedSpan>& blocked,
                  std::span<const uint32_t> steps, std::vector<BlockedParts>& parts) {
  if (blocked.empty() || steps.empty()) return;
  const CallsOfRows calls(view, trace);
  size_t next = 0;
  for (const BlockedSpan& span : blocked) {
    while (next < steps.size() && view.d.trace_steps[steps[next]].end().ns <= span.from_ns) ++next;
    for (size_t k = next; k < steps.size(); ++k) {
      const TraceStep& step = view.d.trace_steps[steps[k]];
      const int64_t from_ns = std::max(step.begin.ns, span.from_ns), until_ns = std::min(step.end().ns, span.until_ns);
      if (step.begin.ns >= span.until_ns) break;
      if (until_ns > from_ns) parts[steps[k]] += calls.between(span.gpu_row, from_ns, until_ns);
    }
  }
}

}  // namespace skewscope::blame
