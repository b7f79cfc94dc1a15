#include "replay.h"

#include <algorithm>
#include <map>
#include <optional>

namespace skewscope::blame {
namespace {

constexpr int64_t kNotReplayed = INT64_MIN;

// First start and last end of each session; their lengths add up.
class Lengths {
 public:
  void add(SessionId session, int64_t first, int64_t last) {
    const auto [at, fresh] = by_session_.emplace(session, std::make_pair(first, last));
    at->second = {std::min(at->second.first, first), std::max(at->second.second, last)};
  }
  int64_t sum() const {
    int64_t sum = 0;
    for (const auto& [session, window] : by_session_) sum += window.second - window.first;
    return sum;
  }

 private:
  std::map<SessionId, std::pair<int64_t, int64_t>> by_session_;
};

// New starts of all members, and the last one of each collective.
class Arrivals {
 public:
  explicit Arrivals(const JobView& view)
      : view_(view),
        start_(view.table.members.size(), kNotReplayed),
        last_(view.table.instances.size(), kNotReplayed) {}

  void set_start(size_t row, int64_t ns) {
    start_[row] = ns;
    int64_t& last = last_[static_cast<size_t>(view_.instance_of_row[row])];
    last = std::max(last, ns);
  }
  int64_t needed(const WaitRule& rule, size_t row) const {
    return rule.needed(static_cast<int64_t>(row), last_[static_cast<size_t>(view_.instance_of_row[row])],
                       [&](int64_t r) { return start_[static_cast<size_t>(r)]; });
  }

 private:
  const JobView& view_;
  std::vector<int64_t> start_, last_;
};

}  // namespace

Change no_change(const ReplayPlan& plan) {
  return {std::vector<bool>(plan.lines.size(), false), std::vector<double>(plan.lines.size(), 1), false};
}

int64_t replay(const ReplayPlan& plan, const Change& change) {
  std::vector<std::optional<LineRunner>> runners(plan.lines.size());
  std::map<SessionId, int64_t> earlier_ns;  // how much the job is, by session
  const auto runner_of = [&](size_t t) -> LineRunner& {
    if (!runners[t]) {
      const int64_t shift = plan.begins_late[t] ? earlier_ns[plan.view.job.traces[t].session] : 0;
      runners[t].emplace(plan.lines[t], change.at_peers_pace[t] ? &plan.paces[t] : nullptr, change.work[t], shift);
    }
    return *runners[t];
  };
  Arrivals arrivals(plan.view);
  for (const Moment& moment : plan.moments) {
    const auto row = static_cast<size_t>(moment.row);
    const size_t t = plan.view.ref(row).trace.index();
    const auto fork = static_cast<size_t>(plan.fork_of_row[row]);
    if (!moment.is_end) {
      arrivals.set_start(row, runner_of(t).start_of(fork));
      continue;
    }
    const bool vanishes = change.no_transfer && plan.tail_is_transfer[row];
    const WaitRule& rule = plan.rules[static_cast<size_t>(plan.view.instance_of_row[row])];
    const int64_t end = arrivals.needed(rule, row) + (vanishes ? 0 : plan.tail_ns[row]);
    runner_of(t).set_end(fork, end);
    if (plan.any_begins_late) earlier_ns[plan.view.job.traces[t].session] = moment.ns - end;
  }
  Lengths lengths;
  for (size_t t = 0; t < runners.size(); ++t) {
    if (plan.lines[t].forks.empty()) continue;
    const int64_t last = runner_of(t).finish();
    lengths.add(plan.view.job.traces[t].session, runner_of(t).first(), last);
  }
  return lengths.sum();
}

int64_t recorded_length(const ReplayPlan& plan) {
  Lengths lengths;
  for (size_t t = 0; t < plan.lines.size(); ++t) {
    if (plan.lines[t].forks.empty()) continue;
    int64_t last = plan.lines[t].last_ns;
    const TraceIndex trace(static_cast<int64_t>(t));
    for (const CollectiveCall& call : plan.view.job.traces[t].calls) {
      last = std::max(last, plan.view.clocks.to_job(trace, call.end()).ns);
    }
    lengths.add(plan.view.job.traces[t].session, plan.lines[t].first_ns, last);
  }
  return lengths.sum();
}

}  // namespace skewscope::blame
