#include "what_if.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <map>

#include "skewscope/base/disjoint_sets.h"

namespace skewscope::blame {
namespace {

constexpr size_t kMostSuspects = 8, kMostInnocents = 16, kMostPrograms = 64;
constexpr double kLeastShare = 0.1;  // less is nothing to point at

// A rank with all its sessions.
struct Person {
  Rank rank;
  int64_t origin_ns = 0;
  std::vector<size_t> traces;
  int64_t saved_ns = 0;
};

// Most blamed first.
std::vector<Person> people_of(const ReplayPlan& plan, const Blame& blame) {
  std::map<Rank, Person> by_rank;
  for (size_t t = 0; t < blame.traces.size(); ++t) {
    Person& person = by_rank[plan.view.job.traces[t].rank];
    person.rank = plan.view.job.traces[t].rank;
    person.origin_ns += blame.traces[t].origin_ns;
    person.traces.push_back(t);
  }
  std::vector<Person> people;
  for (auto& [rank, person] : by_rank) people.push_back(std::move(person));
  std::stable_sort(people.begin(), people.end(),
                   [](const Person& a, const Person& b) { return a.origin_ns > b.origin_ns; });
  return people;
}

// The suspects at the front, then innocents evenly from the rest.
std::vector<Person> chosen(std::vector<Person> people, size_t& suspects) {
  suspects = std::min({kMostSuspects, (people.size() + 1) / 2, people.size()});
  std::vector<Person> out(people.begin(), people.begin() + static_cast<ptrdiff_t>(suspects));
  const size_t rest = people.size() - suspects, innocents = std::min(kMostInnocents, rest);
  for (size_t i = 0; i < innocents; ++i) out.push_back(people[suspects + i * rest / innocents]);
  return out;
}

// Groups of traces that are at the same place of a program at some time; none where that is all of them.
std::vector<ProgramGroup> programs_of(const ReplayPlan& plan) {
  DisjointSets sets(plan.lines.size());
  for (const Place& place : plan.places) {
    for (const int32_t row : place.rows) {
      sets.unite(plan.view.ref(static_cast<size_t>(place.rows.front())).trace.index(),
                 plan.view.ref(static_cast<size_t>(row)).trace.index());
    }
  }
  std::map<size_t, ProgramGroup> groups;
  for (size_t t = 0; t < plan.lines.size(); ++t) {
    if (plan.lines[t].forks.empty()) continue;
    ProgramGroup& group = groups[sets.root(t)];
    group.traces.emplace_back(static_cast<int64_t>(t));
    for (const Fork& fork : plan.lines[t].forks) group.work_ns += fork.work_ns;
  }
  size_t largest = 0;
  for (const auto& [root, group] : groups) largest = std::max(largest, group.traces.size());
  std::vector<ProgramGroup> out;
  for (auto& [root, group] : groups) {
    if (largest > 1 && group.traces.size() == 1) continue;  // lost kernels make its program look like nobody's
    group.work_ns /= std::ssize(group.traces);
    out.push_back(std::move(group));
  }
  return out.size() < 2 || out.size() > kMostPrograms ? std::vector<ProgramGroup>() : out;
}

// A group that works longer than the others on average is replayed at their mean.
void balance_programs(const ReplayPlan& plan, Blame& blame) {
  blame.programs = programs_of(plan);
  int64_t sum = 0;
  for (const ProgramGroup& group : blame.programs) sum += group.work_ns;
  tbb::parallel_for(size_t{0}, blame.programs.size(), [&](size_t g) {
    ProgramGroup& group = blame.programs[g];
    const int64_t others = (sum - group.work_ns) / (std::ssize(blame.programs) - 1);
    if (group.work_ns <= others) return;
    Change change = no_change(plan);
    for (const TraceIndex trace : group.traces) {
      change.work[trace.index()] = static_cast<double>(others) / static_cast<double>(group.work_ns);
    }
    group.saved_ns = std::max<int64_t>(0, blame.replay.replayed_ns - replay(plan, change));
  });
}

}  // namespace

void what_if(const ReplayPlan& plan, Blame& blame) {
  Replay& job = blame.replay;
  job.recorded_ns = recorded_length(plan);
  job.replayed_ns = replay(plan, no_change(plan));
  Change all = no_change(plan);
  all.at_peers_pace.assign(plan.lines.size(), true);
  job.balanced_ns = replay(plan, all);
  Change no_transfer = no_change(plan);
  no_transfer.no_transfer = true;
  job.no_transfer_ns = replay(plan, no_transfer);

  size_t suspects = 0;
  std::vector<Person> people = chosen(people_of(plan, blame), suspects);
  tbb::parallel_for(size_t{0}, people.size(), [&](size_t p) {
    Change one = no_change(plan);
    for (const size_t t : people[p].traces) one.at_peers_pace[t] = true;
    people[p].saved_ns = job.replayed_ns - replay(plan, one);
  });
  const int64_t gain = job.replayed_ns - job.balanced_ns;
  const auto share = [&](const Person& person) {
    return gain > 0 ? static_cast<double>(person.saved_ns) / static_cast<double>(gain) : 0;
  };
  double innocent = kLeastShare / 2;
  for (size_t p = suspects; p < people.size(); ++p) innocent = std::max(innocent, share(people[p]));
  for (size_t p = 0; p < suspects; ++p) {
    for (const size_t t : people[p].traces) {
      blame.traces[t].what_if = {true, people[p].saved_ns, share(people[p]), share(people[p]) > 2 * innocent};
    }
  }
  balance_programs(plan, blame);
}

}  // namespace skewscope::blame
