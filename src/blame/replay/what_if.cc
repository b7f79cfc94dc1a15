#include "what_if.h"

#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <map>

#include "even_experts.h"
#include "operation_what_if.h"

namespace skewscope::blame {
namespace {

constexpr size_t kMostSuspects = 8, kMostInnocents = 16, kMostPrograms = 64;
constexpr double kLeastShare = 0.1;     // of what balance gains; less is nothing to point at
constexpr double kLeastTogether = 0.7;  // the same of several; of equal ones half of the ranks make half of it
constexpr double kLeastGain = 0.01;     // of the job: jitter alone gains up to half of that
constexpr double kMostError = 0.03;     // of the recorded length: what is further off proves nothing, or is a bound
constexpr double kMostUnknown = 0.5;    // of the time in calls
constexpr double kLeastHeld = 0.02;     // of the job: what a replay leaves as it was; less changes no figure
constexpr double kLeftAlone = 0.05;     // of what follows the last arrivals: no replay takes it away

// A rank with all its sessions.
struct Person {
  Rank rank;
  int64_t own_ns = 0;  // waiting that it causes, without what its program takes
  std::vector<size_t> traces;
  int64_t saved_ns = 0;
};

// Whether others run what the trace runs, for the most part: a stage of a pipeline may be the only one of its kind.
bool has_peers(const ReplayPlan& plan, size_t trace) {
  size_t calls = 0, shared = 0;
  for (const Fork& fork : plan.lines[trace].forks) {
    if (fork.row < 0) continue;
    ++calls;
    shared += plan.paces.of(fork) != nullptr ? 1 : 0;
  }
  return calls > 0 && 2 * shared >= calls;
}

// Those that have peers, most blamed first.
std::vector<Person> people_of(const ReplayPlan& plan, const ReplayIsland& island,
                              const std::vector<TraceBlame>& traces) {
  std::map<Rank, Person> by_rank;
  for (const TraceIndex index : island.traces) {
    const size_t t = index.index();
    const TraceBlame& trace = traces[t];
    if (!has_peers(plan, t)) continue;
    Person& person = by_rank[plan.view.job.traces[t].rank];
    person.rank = plan.view.job.traces[t].rank;
    person.own_ns += trace.origin_ns - trace.origin_by_cause[static_cast<size_t>(LateCause::program)];
    person.traces.push_back(t);
  }
  std::vector<Person> people;
  for (auto& [rank, person] : by_rank) people.push_back(std::move(person));
  std::stable_sort(people.begin(), people.end(), [](const Person& a, const Person& b) { return a.own_ns > b.own_ns; });
  return people;
}

// The suspects at the front, then others evenly from the rest.
std::vector<Person> chosen(std::vector<Person> people) {
  const size_t suspects = std::min(kMostSuspects, people.size());
  std::vector<Person> out(people.begin(), people.begin() + static_cast<ptrdiff_t>(suspects));
  const size_t rest = people.size() - suspects, others = std::min(kMostInnocents, rest);
  for (size_t i = 0; i < others; ++i) out.push_back(people[suspects + i * rest / others]);
  return out;
}

Change at_peers_pace(const ReplayPlan& plan, const std::vector<size_t>& traces) {
  Change change = no_change(plan);
  for (const size_t t : traces) change.at_peers_pace[t] = true;
  return change;
}

std::vector<int64_t> saved_with(const ReplayPlan& plan, const ReplayIsland& island, const Replay& job,
                                const std::vector<Change>& changes) {
  std::vector<int64_t> saved = replay(plan, island, changes);
  for (int64_t& ns : saved) ns = std::max<int64_t>(0, job.replayed_ns - ns);
  return saved;
}

class Bench {
 public:
  explicit Bench(const Replay& job)
      : gain_(job.balanced_ns < 0 ? 0 : static_cast<double>(job.replayed_ns - job.balanced_ns)),
        whole_(static_cast<double>(job.replayed_ns)) {}

  double share(int64_t saved_ns) const { return gain_ > 0 ? static_cast<double>(saved_ns) / gain_ : 0; }
  // `others`: the largest share of those it is held against.
  bool stands_out(int64_t saved_ns, double others) const {
    return share(saved_ns) > std::max(kLeastShare, 2 * others) && static_cast<double>(saved_ns) >= kLeastGain * whole_;
  }

 private:
  double gain_, whole_;
};

// A person is held against the third most: two may be at fault in turn.
void judge_each(const std::vector<Person>& people, const Bench& bench, std::vector<TraceBlame>& traces) {
  std::vector<double> shares;
  for (const Person& person : people) shares.push_back(bench.share(person.saved_ns));
  std::sort(shares.rbegin(), shares.rend());
  const double third = shares.size() > 2 ? shares[2] : 0;
  for (const Person& person : people) {
    const bool stands_out = bench.stands_out(person.saved_ns, third);
    for (const size_t t : person.traces) {
      traces[t].what_if = {true, person.saved_ns, bench.share(person.saved_ns), stands_out};
    }
  }
}

// Where no one differs clearly: those whose own wait is at least half of the most blamed one's, together.
Together judge_together(const ReplayPlan& plan, const ReplayIsland& island, const Replay& job,
                        const std::vector<Person>& people, const Bench& bench, const std::vector<TraceBlame>& judged) {
  const bool any = std::any_of(island.traces.begin(), island.traces.end(),
                               [&](TraceIndex trace) { return judged[trace.index()].what_if.stands_out; });
  if (any || people.empty()) return {};
  std::vector<size_t> traces;
  std::vector<Rank> ranks;
  for (size_t p = 0; p < std::min(kMostSuspects, people.size()) && 2 * people[p].own_ns >= people[0].own_ns; ++p) {
    traces.insert(traces.end(), people[p].traces.begin(), people[p].traces.end());
    ranks.push_back(people[p].rank);
  }
  if (ranks.size() < 2 || 2 * ranks.size() > people.size()) return {};
  const int64_t saved_ns = saved_with(plan, island, job, {at_peers_pace(plan, traces)}).front();
  if (!bench.stands_out(saved_ns, kLeastTogether / 2)) return {};
  std::sort(ranks.begin(), ranks.end());
  return {ranks, saved_ns};
}

// Groups of traces that run the same program; none where that is all of them. One that is alone next to larger groups
// and does a part of what another does has lost calls.
std::vector<ProgramGroup> programs_of(const ReplayPlan& plan, const ReplayIsland& island) {
  std::map<int32_t, ProgramGroup> groups;
  for (const TraceIndex trace : island.traces) {
    if (!plan.lines[trace.index()].forks.empty()) groups[plan.program[trace.index()]].traces.push_back(trace);
  }
  size_t largest = 0;
  for (const auto& [program, group] : groups) largest = std::max(largest, group.traces.size());
  std::vector<ProgramGroup> out;
  for (auto& [program, group] : groups) {
    if (largest > 1 && group.traces.size() == 1 && plan.lost_part[group.traces.front().index()]) continue;
    std::vector<int64_t> works;
    for (const TraceIndex trace : group.traces) {
      works.push_back(0);
      for (const Fork& fork : plan.lines[trace.index()].forks) works.back() += fork.work_ns;
    }
    std::sort(works.begin(), works.end());
    group.work_ns = works[(works.size() - 1) / 2];
    out.push_back(std::move(group));
  }
  return out.size() < 2 || out.size() > kMostPrograms ? std::vector<ProgramGroup>() : out;
}

// By which a job with stages of even length can be shorter at most: its ranks work as long as the mean of the stages,
// and wait for as long as the schedule makes them. A replay cannot know it: it follows the messages that were waited
// for, and a stage that was the longest hardly waited. -1: there is no such pipeline, or its work is not known.
int64_t schedule_allows_ns(const Pipeline& pipeline, int64_t replayed_ns) {
  if (pipeline.schedule_ns < 0 || pipeline.stages.empty()) return -1;
  int64_t work = 0, ranks = 0;
  for (const Pipeline::Stage& stage : pipeline.stages) {
    work += stage.work_ns * std::ssize(stage.ranks);
    ranks += std::ssize(stage.ranks);
  }
  if (ranks == 0) return -1;
  return std::max<int64_t>(0, replayed_ns - (work + pipeline.schedule_ns) / ranks);
}

// Work is moved, not removed: every program is replayed at the mean over ranks.
std::vector<ProgramGroup> balanced_programs(const ReplayPlan& plan, const ReplayIsland& island, const Replay& job,
                                            const Pipeline& pipeline) {
  std::vector<ProgramGroup> programs = programs_of(plan, island);
  int64_t work = 0, ranks = 0;
  for (const ProgramGroup& group : programs) {
    work += group.work_ns * std::ssize(group.traces);
    ranks += std::ssize(group.traces);
  }
  if (ranks == 0 || work == 0) return programs;
  Change change = no_change(plan);
  ProgramGroup* longest = &programs.front();
  for (ProgramGroup& group : programs) {
    const double factor = static_cast<double>(work) / static_cast<double>(ranks * std::max<int64_t>(1, group.work_ns));
    for (const TraceIndex trace : group.traces) change.work[trace.index()] = factor;
    if (group.work_ns > longest->work_ns) longest = &group;
  }
  longest->saved_ns = saved_with(plan, island, job, {change}).front();
  const int64_t allowed = schedule_allows_ns(pipeline, job.replayed_ns);
  if (allowed < 0) return programs;
  longest->saved_ns = std::min(longest->saved_ns, allowed);
  longest->saved_at_least =
      static_cast<double>(allowed - longest->saved_ns) > kMostError * static_cast<double>(job.replayed_ns);
  return programs;
}

// Behind the last arrival that is known a call may still wait for a rank without a trace: no network ends it sooner.
bool knows_transfer(const ReplayPlan& plan, const ReplayIsland& island) {
  int64_t all_ns = 0, kept_ns = 0;
  for (const Moment moment : island.moments) {
    if (moment.is_end()) continue;
    all_ns += plan.tail_ns[moment.row()];
    if (!plan.tail_is_transfer[moment.row()]) kept_ns += plan.tail_ns[moment.row()];
  }
  return static_cast<double>(kept_ns) <= kLeftAlone * static_cast<double>(all_ns);
}

// Time in calls of one rank that may have waited for somebody, and take as long in every replay.
bool holds_waiting(const ReplayPlan& plan, const ReplayIsland& island, int64_t replayed_ns) {
  int64_t most_ns = 0;
  for (const TraceIndex trace : island.traces) {
    int64_t ns = 0;
    for (const Fork& fork : plan.lines[trace.index()].forks) {
      if (fork.before_recording) continue;
      if (fork.row < 0) ns += fork.duration_ns;
      if (fork.row >= 0 && !plan.tail_is_transfer[static_cast<size_t>(fork.row)]) {
        ns += plan.tail_ns[static_cast<size_t>(fork.row)];
      }
    }
    most_ns = std::max(most_ns, ns);
  }
  return static_cast<double>(most_ns) >= kLeastHeld * static_cast<double>(replayed_ns);
}

// Where rows are missing, most time is not split or no collective is complete, a replay shows nothing.
bool can_conclude(const ReplayPlan& plan, const ReplayIsland& island, const Replay& job) {
  if (std::none_of(island.moments.begin(), island.moments.end(), [&](Moment moment) {
        return plan.view.instance(static_cast<size_t>(plan.view.instance_of_row[moment.row()])).complete;
      })) {
    return false;
  }
  CallParts all;
  for (const TraceIndex trace : island.traces) {
    const CallParts& parts = plan.view.d.traces[trace.index()].parts;
    all.wait_ns += parts.wait_ns + parts.transfer_ns;
    all.unattributed_ns += parts.unattributed_ns;
    const RankLine& line = plan.lines[trace.index()];
    if (line.blind && !line.forks.empty()) return false;
  }
  const auto recorded = static_cast<double>(job.recorded_ns);
  const auto known = static_cast<double>(all.wait_ns), unknown = static_cast<double>(all.unattributed_ns);
  return std::abs(static_cast<double>(job.replayed_ns) - recorded) <= kMostError * recorded &&
         unknown <= kMostUnknown * (known + unknown);
}

}  // namespace

Replay replay_job(const ReplayPlan& plan, const ReplayIsland& island) {
  Change all = no_change(plan), no_transfer = no_change(plan);
  all.at_peers_pace.assign(plan.lines.size(), true);
  no_transfer.operation = kEveryOperation;
  no_transfer.transfer = 0;
  Replay job;
  job.recorded_ns = recorded_length(plan, island);
  if (island.moments.empty()) return job;
  const std::vector<int64_t> lengths = replay(plan, island, {no_change(plan), all, no_transfer});
  job.replayed_ns = lengths[0];
  const bool any = std::any_of(island.traces.begin(), island.traces.end(),
                               [&](TraceIndex trace) { return has_peers(plan, trace.index()); });
  if (any) job.balanced_ns = lengths[1];
  job.no_transfer_ns = lengths[2];
  return job;
}

IslandBlame what_if(const ReplayPlan& plan, const ReplayIsland& island, const Replay& job, Pipeline pipeline,
                    int64_t at_once_ns, std::vector<TraceBlame>& traces) {
  IslandBlame out;
  out.pipeline = std::move(pipeline);
  out.replay.recorded_ns = job.recorded_ns;
  out.replay.replayed_ns = job.replayed_ns;
  if (!can_conclude(plan, island, job)) return out;
  out.replay = job;
  const bool slowed = static_cast<double>(at_once_ns) >= kLeastHeld * static_cast<double>(job.replayed_ns);
  out.replay.saved_at_least = holds_waiting(plan, island, job.replayed_ns) || slowed;
  if (!knows_transfer(plan, island)) out.replay.no_transfer_ns = -1;

  std::vector<Person> people = chosen(people_of(plan, island, traces));
  std::vector<Change> changes;
  for (const Person& person : people) changes.push_back(at_peers_pace(plan, person.traces));
  const std::vector<int64_t> saved = saved_with(plan, island, job, changes);
  for (size_t p = 0; p < people.size(); ++p) people[p].saved_ns = saved[p];
  const Bench bench(job);
  judge_each(people, bench, traces);
  tbb::parallel_invoke([&] { out.together = judge_together(plan, island, job, people, bench, traces); },
                       [&] { out.programs = balanced_programs(plan, island, job, out.pipeline); },
                       [&] { out.operations = what_if_operations(plan, island, job.replayed_ns); },
                       [&] { out.replay.even_experts_ns = length_with_even_experts(plan, island); });
  return out;
}

}  // namespace skewscope::blame
