#include "replay.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace skewscope::blame {
namespace {

constexpr int64_t kNotReplayed = INT64_MIN;

// The last new start of each collective, and where not all wait for it, those of its members.
class Arrivals {
 public:
  Arrivals(const ReplayPlan& plan, const ReplayIsland& island) : plan_(plan), last_(island.instances) {
    for (Abreast& last : last_) last.fill(kNotReplayed);
    if (std::all_of(plan.rules.begin(), plan.rules.end(), [](const WaitRule& rule) { return rule.everyone; })) return;
    start_.resize(island.rows);
    for (Abreast& start : start_) start.fill(kNotReplayed);
  }

  void set_start(size_t row, const Abreast& ns) {
    Abreast& last = last_[instance_in_island(row)];
    for (size_t k = 0; k < kAbreast; ++k) last[k] = std::max(last[k], ns[k]);
    if (!rule_of(row).everyone) start_[row_in_island(row)] = ns;
  }
  // That `row` waits for.
  Abreast needed(size_t row) const {
    const WaitRule& rule = rule_of(row);
    Abreast arrival = last_[instance_in_island(row)];
    if (rule.everyone) return arrival;
    for (size_t k = 0; k < kAbreast; ++k) {
      arrival[k] = rule.needed(static_cast<int64_t>(row), arrival[k], plan_.awaited, [&](int64_t other) {
        return is_compared(row, static_cast<size_t>(other)) ? start_[row_in_island(static_cast<size_t>(other))][k]
                                                            : kNotReplayed;
      });
    }
    return arrival;
  }

 private:
  const WaitRule& rule_of(size_t row) const {
    return plan_.rules[static_cast<size_t>(plan_.view.instance_of_row[row])];
  }
  bool one_island() const { return plan_.row_in_island.empty(); }
  size_t instance_in_island(size_t row) const {
    return one_island() ? static_cast<size_t>(plan_.view.instance_of_row[row]) : plan_.instance_in_island[row];
  }
  size_t row_in_island(size_t row) const { return one_island() ? row : plan_.row_in_island[row]; }
  bool is_compared(size_t row, size_t other) const {
    return one_island() || plan_.island_of_row(row) == plan_.island_of_row(other);
  }

  const ReplayPlan& plan_;
  std::vector<Abreast> last_;   // by instance
  std::vector<Abreast> start_;  // by row, filled where not all wait; empty where everyone always does
};

// From the arrival that `row` waited for to its end.
int64_t tail_of(const ReplayPlan& plan, size_t row, const Change& change) {
  const int64_t tail_ns = plan.tail_ns[row];
  if (change.operation == kNoOperation || !plan.tail_is_transfer[row]) return tail_ns;
  const auto instance = static_cast<size_t>(plan.view.instance_of_row[row]);
  const bool changed = change.operation == kEveryOperation || plan.operation_of_instance[instance] == change.operation;
  const bool of_part = change.rows == nullptr || (*change.rows)[row];
  return changed && of_part ? std::llround(static_cast<double>(tail_ns) * change.transfer) : tail_ns;
}

using Changes = std::array<const Change*, kAbreast>;

Abreast replay_abreast(const ReplayPlan& plan, const ReplayIsland& island, const Changes& changes) {
  std::vector<std::optional<LineRunner>> runners(plan.lines.size());
  std::map<SessionId, Abreast> earlier_ns;  // how much the job is, by session
  const auto runner_of = [&](size_t t) -> LineRunner& {
    if (!runners[t]) {
      const auto known = earlier_ns.find(plan.view.job.traces[t].session);
      const bool shifted = plan.begins_late[t] && known != earlier_ns.end();
      std::array<LineRunner::Change, kAbreast> of_line;
      for (size_t k = 0; k < kAbreast; ++k) {
        const ForkFactors* const by_fork = changes[k]->work_by_fork;
        of_line[k] = {changes[k]->at_peers_pace[t], changes[k]->work[t], shifted ? known->second[k] : 0,
                      by_fork == nullptr || (*by_fork)[t].empty() ? nullptr : &(*by_fork)[t]};
      }
      runners[t].emplace(plan.lines[t], plan.paces, of_line);
    }
    return *runners[t];
  };
  Arrivals arrivals(plan, island);
  for (const Moment moment : island.moments) {
    const size_t row = moment.row();
    const size_t t = plan.view.ref(row).trace.index();
    const auto fork = static_cast<size_t>(plan.fork_of_row[row]);
    if (!moment.is_end()) {
      arrivals.set_start(row, runner_of(t).start_of(fork));
      continue;
    }
    Abreast end = arrivals.needed(row);
    for (size_t k = 0; k < kAbreast; ++k) {
      end[k] += tail_of(plan, row, *changes[k]);
    }
    runner_of(t).set_end(fork, end);
    if (!plan.any_begins_late) continue;
    Abreast& earlier = earlier_ns[plan.view.job.traces[t].session];
    for (size_t k = 0; k < kAbreast; ++k) earlier[k] = plan.end_ns[row] - end[k];
  }
  std::array<ComponentSpans, kAbreast> lengths;
  for (const TraceIndex trace : island.traces) {
    const size_t t = trace.index();
    if (plan.lines[t].forks.empty()) continue;
    const Abreast last = runner_of(t).finish(), &first = runner_of(t).first();
    const int32_t component = component_number(plan.view.clocks.clocks[t], t);
    for (size_t k = 0; k < kAbreast; ++k) lengths[k].add(plan.view.job.traces[t].session, component, first[k], last[k]);
  }
  Abreast sums;
  for (size_t k = 0; k < kAbreast; ++k) sums[k] = lengths[k].sum_ns();
  return sums;
}

}  // namespace

Change no_change(const ReplayPlan& plan) {
  Change change;
  change.at_peers_pace.assign(plan.lines.size(), false);
  change.work.assign(plan.lines.size(), 1);
  return change;
}

std::vector<int64_t> replay(const ReplayPlan& plan, const ReplayIsland& island, const std::vector<Change>& changes) {
  std::vector<int64_t> lengths(changes.size());
  tbb::parallel_for(size_t{0}, (changes.size() + kAbreast - 1) / kAbreast, [&](size_t run) {
    const size_t first = run * kAbreast, count = std::min(kAbreast, changes.size() - first);
    Changes abreast;
    for (size_t k = 0; k < kAbreast; ++k) abreast[k] = &changes[first + std::min(k, count - 1)];
    const Abreast sums = replay_abreast(plan, island, abreast);
    std::copy_n(sums.begin(), count, lengths.begin() + static_cast<ptrdiff_t>(first));
  });
  return lengths;
}

int64_t recorded_length(const ReplayPlan& plan, const ReplayIsland& island) {
  ComponentSpans lengths;
  for (const TraceIndex trace : island.traces) {
    const size_t t = trace.index();
    if (plan.lines[t].forks.empty()) continue;
    int64_t last = plan.lines[t].last_ns;
    for (const CollectiveCall& call : plan.view.job.traces[t].calls) {
      last = std::max(last, plan.view.clocks.to_job(trace, call.end()).ns);
    }
    const int32_t component = component_number(plan.view.clocks.clocks[t], t);
    lengths.add(plan.view.job.traces[t].session, component, plan.lines[t].first_ns, last);
  }
  return lengths.sum_ns();
}

}  // namespace skewscope::blame
