#include "replay.h"

#include <algorithm>
#include <cmath>

#include "arrival_needed.h"

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

}  // namespace

Change no_change(const ReplayPlan& plan) {
  return {std::vector<bool>(plan.lines.size(), false), std::vector<double>(plan.lines.size(), 1), false};
}

int64_t replay(const ReplayPlan& plan, const Change& change) {
  std::vector<Runner> runners;
  runners.reserve(plan.lines.size());
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (size_t t = 0; t < plan.lines.size(); ++t) {
    runners.emplace_back(plan.lines[t], plan.paces[t], change.at_peers_pace[t], change.work[t]);
    if (!plan.lines[t].forks.empty()) first = std::min(first, plan.lines[t].first_ns);
  }
  std::vector<int64_t> starts;
  for (const size_t id : plan.order) {
    const CollectiveInstance& i = plan.view.instance(id);
    starts.clear();
    for (size_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      const auto trace = plan.view.ref(row).trace.index();
      starts.push_back(runners[trace].start_of(static_cast<size_t>(plan.fork_of_row[row])));
    }
    const std::vector<int64_t> needed = arrivals_needed(plan.view, id, starts);
    for (size_t m = 0; m < starts.size(); ++m) {
      const size_t row = i.first_member + m;
      const int64_t tail = change.no_transfer ? 0 : plan.tail_ns[row];
      runners[plan.view.ref(row).trace.index()].set_end(static_cast<size_t>(plan.fork_of_row[row]), needed[m] + tail);
    }
  }
  for (size_t t = 0; t < runners.size(); ++t) {
    if (!plan.lines[t].forks.empty()) last = std::max(last, runners[t].finish());
  }
  return last > first ? last - first : 0;
}

int64_t recorded_length(const ReplayPlan& plan) {
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (size_t t = 0; t < plan.lines.size(); ++t) {
    if (plan.lines[t].forks.empty()) continue;
    first = std::min(first, plan.lines[t].first_ns);
    last = std::max(last, plan.lines[t].last_ns);
    const TraceIndex trace(static_cast<int64_t>(t));
    for (const CollectiveCall& call : plan.view.job.traces[t].calls) {
      last = std::max(last, plan.view.clocks.to_job(trace, call.end()).ns);
    }
  }
  return last > first ? last - first : 0;
}

}  // namespace skewscope::blame
