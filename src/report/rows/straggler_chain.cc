// Problem: where lateness shows is often not where it began: the rank that arrived last may itself have waited in
// another group.
// Idea: take the step in which most was waited for the straggler, and in it the largest wait that leads back to it, or
// one at least half as large that leads there over more groups. In an instance the member that waited longest waited
// for the one that waited nothing and came when that wait ended. If this one, since it last left a collective of the
// same group, had waited in other groups for at least half as long, its longest such wait is where the way goes on. It
// ends at the straggler, or where nobody had waited before; every hop is earlier than the one before it. This picture
// of one step follows the rule of src/blame in the small; who the straggler is, blame says. Cost: O(calls), and for the
// step's kMostStarts largest waits kMostHops times kLookBack calls.
#include "straggler_chain.h"

#include <algorithm>
#include <map>
#include <optional>

namespace skewscope::report {
namespace {

using Call = JobReport::CallRow;
using Hop = StragglerChain::Hop;

constexpr size_t kMostStarts = 1000;
constexpr ptrdiff_t kLookBack = 256;  // calls of one rank

struct Seen {
  const TimedInstance* instance;
  const Call* call;
};

// The calls of a step by rank, in order of their starts.
struct Step {
  std::vector<const TimedInstance*> instances;  // by wait, most first
  std::map<int32_t, std::vector<Seen>> of_rank;
};

Step step_of(const std::vector<TimedInstance>& instances, int64_t number) {
  Step step;
  for (const TimedInstance& instance : instances) {
    if (instance.step != number) continue;
    step.instances.push_back(&instance);
    for (const Call& call : instance.calls) step.of_rank[call.rank].push_back({&instance, &call});
  }
  std::stable_sort(step.instances.begin(), step.instances.end(),
                   [](const auto* a, const auto* b) { return a->wait_ns > b->wait_ns; });
  for (auto& [rank, seen] : step.of_rank) {
    std::stable_sort(seen.begin(), seen.end(),
                     [](const Seen& a, const Seen& b) { return a.call->start_ns < b.call->start_ns; });
  }
  return step;
}

// The straggler and the step in which most was waited for it; nullopt: nobody waited for any of them.
struct Worst {
  int32_t rank = -1;
  int64_t step = -1;
};

std::optional<Worst> worst_step(const std::vector<JobReport::Straggler>& stragglers,
                                const std::vector<TimedInstance>& instances) {
  std::map<int32_t, std::map<int64_t, int64_t>> waited_for;  // rank -> step -> ns
  for (const TimedInstance& instance : instances) {
    if (const auto pair = longest_wait(instance.calls)) waited_for[pair->late->rank][instance.step] += instance.wait_ns;
  }
  std::vector<JobReport::Straggler> causes_first = stragglers;
  std::stable_partition(causes_first.begin(), causes_first.end(),
                        [](const auto& s) { return s.standing == Standing::cause; });
  for (const JobReport::Straggler& straggler : causes_first) {
    const auto steps = waited_for.find(straggler.rank);
    if (steps == waited_for.end()) continue;
    const auto most = std::max_element(steps->second.begin(), steps->second.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return Worst{straggler.rank, most->first};
  }
  return std::nullopt;
}

// Where `late` waited longest since it last left a collective of the same group, if what it waited there explains half
// of `wait_ns`.
const TimedInstance* earlier_wait(const std::vector<Seen>& seen, const Call& late, int64_t wait_ns) {
  const auto own = std::lower_bound(seen.begin(), seen.end(), late.start_ns,
                                    [](const Seen& s, int64_t start_ns) { return s.call->start_ns < start_ns; });
  int64_t waited_ns = 0, longest_ns = 0;
  const TimedInstance* longest = nullptr;
  for (auto before = own; before != seen.begin() && own - before < kLookBack;) {
    --before;
    const Call& call = *before->call;
    if (call.end_ns > late.start_ns) continue;
    if (call.communicator == late.communicator) break;
    waited_ns += call.wait_ns;
    if (call.wait_ns <= longest_ns) continue;
    longest_ns = call.wait_ns;
    longest = before->instance;
  }
  return 2 * waited_ns >= wait_ns ? longest : nullptr;
}

// From `instance` back to `straggler`, or to where nobody had waited before.
std::vector<Hop> way_back(const Step& step, const TimedInstance* instance, int32_t straggler) {
  std::vector<Hop> hops;
  while (instance != nullptr && hops.size() < kMostHops) {
    const auto pair = longest_wait(instance->calls);
    if (!pair) break;
    const Call& late = *pair->late;
    const int32_t victim = hops.empty() ? pair->victim->rank : hops.back().late;
    const auto own = std::find_if(instance->calls.begin(), instance->calls.end(),
                                  [&](const Call& call) { return call.rank == victim; });
    hops.push_back({late.rank, victim, late.communicator, late.start_ns, own->wait_ns});
    if (late.rank == straggler) break;
    instance = earlier_wait(step.of_rank.at(late.rank), late, own->wait_ns);
  }
  return hops;
}

void add_rank(StragglerChain& chain, int32_t rank) {
  const bool known = std::find(chain.ranks.begin(), chain.ranks.end(), rank) != chain.ranks.end();
  if (!known && chain.ranks.size() < kMostChainRanks) chain.ranks.push_back(rank);
}

void add_ranks(StragglerChain& chain, const TimedInstance& shows) {
  for (auto hop = chain.hops.rbegin(); hop != chain.hops.rend(); ++hop) {
    add_rank(chain, hop->late);
    add_rank(chain, hop->victim);
  }
  std::vector<const Call*> members;
  for (const Call& call : shows.calls) members.push_back(&call);
  std::stable_sort(members.begin(), members.end(),
                   [](const Call* a, const Call* b) { return a->wait_ns > b->wait_ns; });
  for (const Call* member : members) add_rank(chain, member->rank);
}

// Calls of the ranks shown, from the first wait of the chain to the end of the instance where it shows, and a tenth
// around.
void add_calls(StragglerChain& chain, const Step& step, const TimedInstance& shows) {
  int64_t from = INT64_MAX, to = INT64_MIN;
  for (const Hop& hop : chain.hops) from = std::min(from, hop.arrival_ns - hop.wait_ns);
  for (const Call& call : shows.calls) to = std::max(to, call.end_ns);
  const int64_t margin = (to - from) / 10;
  for (const int32_t rank : chain.ranks) {
    for (const Seen& seen : step.of_rank.at(rank)) {
      const bool within = seen.call->end_ns >= from - margin && seen.call->start_ns <= to + margin;
      if (within) chain.calls.push_back(seen.call);
    }
  }
  if (chain.calls.size() > kMostChainCalls) {
    std::stable_sort(chain.calls.begin(), chain.calls.end(),
                     [](const Call* a, const Call* b) { return a->end_ns - a->start_ns > b->end_ns - b->start_ns; });
    chain.left_out = chain.calls.size() - kMostChainCalls;
    chain.calls.resize(kMostChainCalls);
  }
  std::stable_sort(chain.calls.begin(), chain.calls.end(),
                   [](const Call* a, const Call* b) { return a->start_ns < b->start_ns; });
}

}  // namespace

StragglerChain straggler_chain(const std::vector<JobReport::Straggler>& stragglers,
                               const std::vector<TimedInstance>& instances) {
  StragglerChain chain;
  const auto worst = worst_step(stragglers, instances);
  if (!worst) return chain;
  const Step step = step_of(instances, worst->step);
  chain.step = worst->step;
  const TimedInstance* shows = nullptr;
  int64_t least_ns = 0;  // half of the largest wait that leads to the straggler
  const size_t starts = std::min(step.instances.size(), kMostStarts);
  for (size_t i = 0; i < starts && step.instances[i]->wait_ns >= least_ns; ++i) {
    const std::vector<Hop> hops = way_back(step, step.instances[i], worst->rank);
    if (hops.empty() || hops.back().late != worst->rank || hops.size() <= chain.hops.size()) continue;
    if (shows == nullptr) least_ns = step.instances[i]->wait_ns / 2;
    shows = step.instances[i];
    chain.hops = hops;
  }
  if (shows == nullptr) return chain;
  add_ranks(chain, *shows);
  add_calls(chain, step, *shows);
  return chain;
}

}  // namespace skewscope::report
