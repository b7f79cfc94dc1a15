#include <tbb/parallel_for.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "arrival_needed.h"
#include "replay.h"

namespace skewscope::blame {
namespace {

struct Part {
  size_t trace, first_fork;
};
// Session, step, and the sequence of calls: operation, group size, role.
using Program = std::tuple<int32_t, int64_t, std::vector<int64_t>>;
using Programs = std::map<Program, std::vector<Part>>;

int64_t word_of(const JobView& view, const RankTrace& trace, const CollectiveCall& call) {
  const auto& communicators = view.table.communicators.communicators;
  const int64_t size = call.communicator.known() ? communicators[call.communicator.index()].size : 0;
  const bool root = call.root.known() && call.root == trace.rank;
  return (size * 64 + static_cast<int64_t>(call.kind)) * 2 + (root ? 1 : 0);
}

Programs programs_of(const JobView& view, const std::vector<RankLine>& lines) {
  Programs programs;
  for (size_t t = 0; t < lines.size(); ++t) {
    const RankTrace& trace = view.job.traces[t];
    const std::vector<Fork>& forks = lines[t].forks;
    for (size_t begin = 0, end = 0; begin < forks.size(); begin = end) {
      const int64_t step = trace.calls[static_cast<size_t>(forks[begin].call)].step;
      std::vector<int64_t> words;
      for (; end < forks.size() && trace.calls[static_cast<size_t>(forks[end].call)].step == step; ++end) {
        words.push_back(word_of(view, trace, trace.calls[static_cast<size_t>(forks[end].call)]));
      }
      programs[{trace.session.value, step, std::move(words)}].push_back({t, begin});
    }
  }
  return programs;
}

int64_t median(std::vector<int64_t>& values) {
  const auto middle = values.begin() + static_cast<int64_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Fills the paces of the forks at `offset` in the parts of one program.
void set_pace(const std::vector<RankLine>& lines, const std::vector<Part>& parts, size_t offset, Paces& paces) {
  std::vector<int64_t> work, delay;
  for (const Part& part : parts) {
    work.push_back(lines[part.trace].forks[part.first_fork + offset].work_ns);
    delay.push_back(lines[part.trace].forks[part.first_fork + offset].delay_ns);
  }
  const int64_t usual_work = median(work), usual_delay = median(delay);
  for (const Part& part : parts) {
    const Fork& fork = lines[part.trace].forks[part.first_fork + offset];
    Pace& pace = paces[part.trace][part.first_fork + offset];
    if (fork.work_ns > usual_work) pace.work = static_cast<double>(usual_work) / static_cast<double>(fork.work_ns);
    pace.delay_ns = std::min(fork.delay_ns, usual_delay);
  }
}

void set_paces(ReplayPlan& plan) {
  for (const RankLine& line : plan.lines) {
    plan.paces.emplace_back(line.forks.size());
    for (size_t k = 0; k < line.forks.size(); ++k) plan.paces.back()[k].delay_ns = line.forks[k].delay_ns;
  }
  plan.place_of_row.assign(plan.view.table.members.size(), -1);
  for (const auto& entry : programs_of(plan.view, plan.lines)) {
    const std::vector<Part>& parts = entry.second;
    if (parts.size() < 2) continue;
    const size_t length = std::get<2>(entry.first).size(), first = plan.places.size();
    plan.places.resize(first + length);
    tbb::parallel_for(size_t{0}, length, [&](size_t offset) {
      set_pace(plan.lines, parts, offset, plan.paces);
      for (const Part& part : parts) {
        const int32_t row = plan.lines[part.trace].forks[part.first_fork + offset].row;
        if (row < 0) continue;
        plan.places[first + offset].rows.push_back(row);
        plan.place_of_row[static_cast<size_t>(row)] = static_cast<int32_t>(first + offset);
      }
    });
  }
}

// From the arrival that a member waited for to its end, as recorded.
void set_tails(const JobView& view, ReplayPlan& plan) {
  plan.tail_ns.assign(view.table.members.size(), 0);
  tbb::parallel_for(size_t{0}, view.table.instances.size(), [&](size_t id) {
    const CollectiveInstance& i = view.instance(id);
    std::vector<int64_t> starts;
    for (size_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      starts.push_back(view.start(row).ns);
    }
    const std::vector<int64_t> needed = arrivals_needed(view, id, starts);
    for (size_t m = 0; m < starts.size(); ++m) {
      const size_t row = i.first_member + m;
      const int64_t end = starts[m] + view.call(row).duration_ns;
      plan.tail_ns[row] = std::max<int64_t>(0, end - needed[m]);
    }
  });
}

}  // namespace

std::vector<bool> blocking_instances(const ReplayPlan& plan) {
  std::vector<uint32_t> joined(plan.view.table.instances.size(), 0);
  for (const RankLine& line : plan.lines) {
    for (const Join& join : line.joins) {
      const int32_t row = line.forks[static_cast<size_t>(join.fork)].row;
      if (row >= 0) ++joined[static_cast<size_t>(plan.view.instance_of_row[static_cast<size_t>(row)])];
    }
  }
  std::vector<bool> blocking(joined.size());
  for (size_t id = 0; id < joined.size(); ++id) blocking[id] = 2 * joined[id] >= plan.view.instance(id).member_count;
  return blocking;
}

ReplayPlan plan_replay(const JobView& view) {
  ReplayPlan plan{view, std::vector<RankLine>(view.job.traces.size()), {}, {}, {}, {}, {}, {}};
  tbb::parallel_for(size_t{0}, plan.lines.size(),
                    [&](size_t t) { plan.lines[t] = rank_line(view, TraceIndex(static_cast<int64_t>(t))); });
  set_paces(plan);
  plan.fork_of_row.assign(view.table.members.size(), -1);
  for (const RankLine& line : plan.lines) {
    for (size_t k = 0; k < line.forks.size(); ++k) {
      if (line.forks[k].row >= 0) plan.fork_of_row[static_cast<size_t>(line.forks[k].row)] = static_cast<int32_t>(k);
    }
  }
  plan.order.resize(view.table.instances.size());
  for (size_t id = 0; id < plan.order.size(); ++id) plan.order[id] = id;
  std::stable_sort(plan.order.begin(), plan.order.end(), [&](size_t a, size_t b) {
    return view.d.instances[a].last_arrival < view.d.instances[b].last_arrival;
  });
  set_tails(view, plan);
  return plan;
}

}  // namespace skewscope::blame
