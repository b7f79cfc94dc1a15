#include "replay.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace skewscope::blame {
namespace {

constexpr int64_t kNotYet = INT64_MIN;

// A line that is being replayed: how far it is, in recorded and in new time.
class Runner {
 public:
  Runner(const RankLine& line, const std::vector<Pace>& paces, bool at_peers_pace, double factor)
      : line_(line),
        paces_(paces),
        fixed_(at_peers_pace),
        factor_(factor),
        recorded_(line.first_ns),
        now_(line.first_ns) {
    start_.assign(line.forks.size(), kNotYet);
    end_.assign(line.forks.size(), kNotYet);
  }

  // When the call of a fork starts.
  int64_t start_of(size_t fork) {
    while (next_fork_ <= fork) pass_fork();
    return start_[fork];
  }
  void set_end(size_t fork, int64_t ns) { end_[fork] = ns; }

  // When all is done.
  int64_t finish() {
    while (next_fork_ < line_.forks.size()) pass_fork();
    advance(line_.last_ns);
    int64_t last = now_;
    for (const int64_t end : end_) last = std::max(last, end);
    return last;
  }

 private:
  // Lets the line run up to a recorded time, standing still at its joins.
  void advance(int64_t to) {
    while (next_join_ < line_.joins.size() && line_.joins[next_join_].from_ns < to) {
      const Join& join = line_.joins[next_join_++];
      work(join.from_ns);
      const int64_t end = end_[static_cast<size_t>(join.fork)];
      if (end == kNotYet) continue;  // stamps contradict: as if it had not been joined
      now_ = std::max(now_, end);
      recorded_ = std::max(recorded_, std::min(join.end_ns, to));
    }
    work(to);
  }

  void work(int64_t to) {
    if (to <= recorded_) return;
    const int64_t span = to - recorded_;
    const bool before_fork = fixed_ && next_fork_ < paces_.size();
    const double factor = factor_ * (before_fork ? paces_[next_fork_].work : 1);
    now_ += factor == 1 ? span : std::llround(static_cast<double>(span) * factor);
    recorded_ = to;
  }

  void pass_fork() {
    const Fork& fork = line_.forks[next_fork_];
    advance(fork.at_ns);
    int64_t ready = now_;
    if (fork.before >= 0 && end_[static_cast<size_t>(fork.before)] != kNotYet) {
      ready = std::max(ready, end_[static_cast<size_t>(fork.before)]);
    }
    start_[next_fork_] = ready + (fixed_ ? paces_[next_fork_].delay_ns : fork.delay_ns);
    if (fork.row < 0) end_[next_fork_] = start_[next_fork_] + fork.duration_ns;  // nobody is known to wait for it
    ++next_fork_;
  }

  const RankLine& line_;
  const std::vector<Pace>& paces_;
  bool fixed_;
  double factor_;
  int64_t recorded_, now_;
  size_t next_fork_ = 0, next_join_ = 0;
  std::vector<int64_t> start_, end_;  // of the calls, by fork
};

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
      : view_(view), start_(view.table.members.size(), kNotYet), last_(view.table.instances.size(), kNotYet) {}

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
  std::vector<Runner> runners;
  runners.reserve(plan.lines.size());
  for (size_t t = 0; t < plan.lines.size(); ++t) {
    runners.emplace_back(plan.lines[t], plan.paces[t], change.at_peers_pace[t], change.work[t]);
  }
  Arrivals arrivals(plan.view);
  for (const Moment& moment : plan.moments) {
    const auto row = static_cast<size_t>(moment.row);
    Runner& runner = runners[plan.view.ref(row).trace.index()];
    const auto fork = static_cast<size_t>(plan.fork_of_row[row]);
    if (!moment.is_end) {
      arrivals.set_start(row, runner.start_of(fork));
      continue;
    }
    const bool vanishes = change.no_transfer && plan.tail_is_transfer[row];
    const WaitRule& rule = plan.rules[static_cast<size_t>(plan.view.instance_of_row[row])];
    runner.set_end(fork, arrivals.needed(rule, row) + (vanishes ? 0 : plan.tail_ns[row]));
  }
  Lengths lengths;
  for (size_t t = 0; t < runners.size(); ++t) {
    if (plan.lines[t].forks.empty()) continue;
    lengths.add(plan.view.job.traces[t].session, plan.lines[t].first_ns, runners[t].finish());
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
