#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "programs.h"
#include "replay.h"
#include "skewscope/base/middle.h"

namespace skewscope::blame {
namespace {

// The lower one of an even number.
int64_t take_lower_middle(std::vector<int64_t>& values) { return take_nth(values, (values.size() - 1) / 2); }

const Fork& fork_of(const ReplayPlan& plan, int32_t row) {
  const auto r = static_cast<size_t>(row);
  return plan.lines[plan.view.ref(r).trace.index()].forks[static_cast<size_t>(plan.fork_of_row[r])];
}

Pace pace_at(const ReplayPlan& plan, const Place& place) {
  std::vector<int64_t> work, host, delay;
  for (const int32_t row : place.rows) {
    work.push_back(fork_of(plan, row).work_ns);
    host.push_back(fork_of(plan, row).host_ns);
    delay.push_back(fork_of(plan, row).delay_ns);
  }
  return {take_lower_middle(work), take_lower_middle(host), take_lower_middle(delay)};
}

void set_paces(ReplayPlan& plan) {
  plan.paces.of_place.resize(plan.places.size());
  tbb::parallel_for(size_t{0}, plan.places.size(),
                    [&](size_t p) { plan.paces.of_place[p] = pace_at(plan, plan.places[p]); });
}

// Per member: the last start of those that it is compared with.
std::vector<int64_t> last_starts(const ReplayPlan& plan, size_t first_row, const std::vector<int64_t>& starts) {
  if (plan.islands.size() == 1) return std::vector(starts.size(), *std::max_element(starts.begin(), starts.end()));
  std::map<int32_t, int64_t> last;
  for (size_t m = 0; m < starts.size(); ++m) {
    int64_t& of_island = last.emplace(plan.island_of_row(first_row + m), starts[m]).first->second;
    of_island = std::max(of_island, starts[m]);
  }
  std::vector<int64_t> out;
  for (size_t m = 0; m < starts.size(); ++m) out.push_back(last.at(plan.island_of_row(first_row + m)));
  return out;
}

// Starts and ends in recorded order; an end comes behind the arrival it waited for, even where clocks contradict.
void set_moments(const JobView& view, ReplayPlan& plan) {
  struct Timed {
    int64_t ns;
    Moment moment;
  };
  std::vector<Timed> moments(2 * view.table.members.size());
  if (plan.any_begins_late) plan.end_ns.resize(view.table.members.size());
  plan.tail_ns.assign(view.table.members.size(), 0);
  plan.tail_is_transfer.assign(view.table.members.size(), false);
  for (size_t id = 0; id < view.table.instances.size(); ++id) {
    plan.rules.push_back(wait_rule(view, id));
    const CollectiveInstance& i = view.instance(id);
    std::vector<int64_t> starts;
    for (size_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      starts.push_back(view.start(row).ns);
    }
    const std::vector<int64_t> last = last_starts(plan, i.first_member, starts);
    const bool known = i.complete && view.d.instances[id].reason == SplitReason::split;
    for (size_t m = 0; m < starts.size(); ++m) {
      const size_t row = i.first_member + m;
      const auto start_of = [&](int64_t other) {
        const auto r = static_cast<size_t>(other);
        return plan.island_of_row(r) == plan.island_of_row(row) ? starts[r - i.first_member] : INT64_MIN;
      };
      const int64_t arrival = plan.rules[id].needed(static_cast<int64_t>(row), last[m], plan.awaited, start_of);
      const int64_t end = std::max(starts[m] + view.span(row).duration_ns, arrival);
      plan.tail_ns[row] = end - arrival;
      plan.tail_is_transfer[row] = known;
      if (plan.any_begins_late) plan.end_ns[row] = end;
      moments[2 * row] = {starts[m], Moment(row, false)};
      moments[2 * row + 1] = {end, Moment(row, true)};
    }
  }
  tbb::parallel_sort(moments, [](const Timed& a, const Timed& b) {
    return std::make_tuple(a.ns, a.moment.is_end(), a.moment) < std::make_tuple(b.ns, b.moment.is_end(), b.moment);
  });
  for (ReplayIsland& island : plan.islands) island.moments.reserve(2 * island.rows);
  for (const Timed& timed : moments) {
    plan.islands[static_cast<size_t>(plan.island_of_row(timed.moment.row()))].moments.push_back(timed.moment);
  }
}

void number_rows(ReplayPlan& plan) {
  const JobView& view = plan.view;
  if (plan.islands.size() == 1) {
    plan.islands.front().instances = view.table.instances.size();
    plan.islands.front().rows = view.table.members.size();
    return;
  }
  plan.instance_in_island.resize(view.table.members.size());
  plan.row_in_island.resize(view.table.members.size());
  std::vector<int32_t> latest(plan.islands.size(), -1);  // instance
  for (size_t row = 0; row < view.table.members.size(); ++row) {
    const auto own = static_cast<size_t>(plan.island_of_row(row));
    ReplayIsland& island = plan.islands[own];
    if (latest[own] != view.instance_of_row[row]) ++island.instances;
    latest[own] = view.instance_of_row[row];
    plan.instance_in_island[row] = static_cast<uint32_t>(island.instances - 1);
    plan.row_in_island[row] = static_cast<uint32_t>(island.rows++);
  }
}

// Which operation in which kind of group each instance is.
void set_operations(ReplayPlan& plan) {
  const auto operation_of = [&](const CollectiveInstance& i) {
    return Operation{plan.view.d.group_kinds.of(i.communicator), i.kind};
  };
  std::map<Operation, int32_t> rows;
  for (const CollectiveInstance& i : plan.view.table.instances) rows.emplace(operation_of(i), 0);
  for (auto& [operation, row] : rows) {
    row = static_cast<int32_t>(plan.operations.size());
    plan.operations.push_back(operation);
  }
  plan.operation_of_instance.reserve(plan.view.table.instances.size());
  for (const CollectiveInstance& i : plan.view.table.instances) {
    plan.operation_of_instance.push_back(rows.at(operation_of(i)));
  }
}

// By the steps that calls were launched in.
void find_late_beginnings(ReplayPlan& plan) {
  std::vector<int64_t> first_step(plan.lines.size(), INT64_MAX);
  std::map<std::pair<SessionId, int32_t>, int64_t> first_of_session;  // and island
  for (size_t t = 0; t < plan.lines.size(); ++t) {
    const RankTrace& trace = plan.view.job.traces[t];
    for (const CollectiveCall& call : trace.calls) {
      if (call.step >= 0) first_step[t] = std::min(first_step[t], call.step);
    }
    int64_t& first =
        first_of_session.emplace(std::pair(trace.session, plan.island_of_trace[t]), INT64_MAX).first->second;
    first = std::min(first, first_step[t]);
  }
  for (size_t t = 0; t < plan.lines.size(); ++t) {
    const bool known = first_step[t] < INT64_MAX;
    const std::pair own(plan.view.job.traces[t].session, plan.island_of_trace[t]);
    plan.begins_late.push_back(known && first_step[t] > first_of_session.at(own));
    plan.any_begins_late = plan.any_begins_late || plan.begins_late.back();
  }
}

}  // namespace

std::vector<bool> blocking_instances(const ReplayPlan& plan) {
  std::vector<uint32_t> joined(plan.view.table.instances.size(), 0);
  for (const RankLine& line : plan.lines) {
    for (const Stop& stop : line.stops) {
      if (stop.fork < 0) continue;
      const int32_t row = line.forks[static_cast<size_t>(stop.fork)].row;
      if (row >= 0) ++joined[static_cast<size_t>(plan.view.instance_of_row[static_cast<size_t>(row)])];
    }
  }
  std::vector<bool> blocking(joined.size());
  for (size_t id = 0; id < joined.size(); ++id) blocking[id] = 2 * joined[id] >= plan.view.instance(id).member_count;
  return blocking;
}

ReplayPlan plan_replay(const JobView& view, std::vector<RankLine> lines) {
  ReplayPlan plan{view, {}, {}, std::move(lines), {}, AwaitedRows(view), {}, {}, {}, {}, {}, false, {}, {}, {}, {}, {},
                  {},   {}, {}};
  plan.island_of_trace.resize(view.job.traces.size());
  for (const ClockIsland& island : islands_of(view.job, view.clocks)) {
    for (const TraceIndex trace : island.traces) {
      plan.island_of_trace[trace.index()] = static_cast<int32_t>(plan.islands.size());
    }
    plan.islands.emplace_back().traces = island.traces;
  }
  plan.fork_of_row.assign(view.table.members.size(), -1);
  for (const RankLine& line : plan.lines) {
    for (size_t k = 0; k < line.forks.size(); ++k) {
      if (line.forks[k].row >= 0) plan.fork_of_row[static_cast<size_t>(line.forks[k].row)] = static_cast<int32_t>(k);
    }
  }
  return plan;
}

void add_places(ReplayPlan& plan) {
  find_places(plan);
  set_paces(plan);
}

void add_moments(ReplayPlan& plan) {
  find_late_beginnings(plan);
  number_rows(plan);
  set_moments(plan.view, plan);
  set_operations(plan);
}

}  // namespace skewscope::blame
