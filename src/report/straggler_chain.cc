// Problem: where the longest wait comes from is often not where it shows: the rank that arrived last may itself have
// waited in another group.
// Idea: take the step that holds most wait, in it the instance with most, and in that the member that waited longest.
// It waited for the member that waited nothing and came when its wait ended. That one is the origin, unless, since it
// last left a collective of this group, it waited in other groups for at least half of what the victim waited: then its
// longest such wait is where the chain goes on. Every hop is earlier than the one before, so the chain ends.
// This picture of one step follows the rule of src/blame in the small; the tables hold what blame says of the job.
// Cost: O(calls of the step) per hop.
#include "straggler_chain.h"

#include <algorithm>
#include <map>

namespace skewscope::report {
namespace {

using Call = JobReport::CallRow;
using Step = std::vector<const TimedInstance*>;

Step worst_step(const std::vector<TimedInstance>& instances) {
  std::map<int64_t, int64_t> wait;
  for (const TimedInstance& instance : instances) wait[instance.step] += instance.wait_ns;
  const auto worst =
      std::max_element(wait.begin(), wait.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  Step step;
  for (const TimedInstance& instance : instances) {
    if (instance.step == worst->first) step.push_back(&instance);
  }
  return step;
}

const Call& longest_waiter(const TimedInstance& instance) {
  return *std::max_element(instance.calls.begin(), instance.calls.end(),
                           [](const Call& a, const Call& b) { return a.wait_ns < b.wait_ns; });
}

// Whom `victim` waited for: the member without wait that came closest to the end of the victim's.
const Call* awaited(const TimedInstance& instance, const Call& victim) {
  const int64_t end = victim.start_ns + victim.wait_ns;
  const Call* found = nullptr;
  for (const Call& call : instance.calls) {
    if (call.wait_ns > 0 || &call == &victim) continue;
    if (found == nullptr || std::abs(call.start_ns - end) < std::abs(found->start_ns - end)) found = &call;
  }
  return found;
}

const Call* call_of(const TimedInstance& instance, int32_t rank) {
  const auto found =
      std::find_if(instance.calls.begin(), instance.calls.end(), [&](const Call& call) { return call.rank == rank; });
  return found == instance.calls.end() ? nullptr : &*found;
}

// Where `late` waited longest since it last left a collective of the same group, if those waits explain half of
// `wait_ns`.
const TimedInstance* earlier_wait(const Step& step, const Call& late, int64_t wait_ns) {
  int64_t left_ns = INT64_MIN;
  for (const TimedInstance* instance : step) {
    const Call* call = call_of(*instance, late.rank);
    if (call != nullptr && call->communicator == late.communicator && call->end_ns <= late.start_ns) {
      left_ns = std::max(left_ns, call->end_ns);
    }
  }
  int64_t waited_ns = 0, longest_ns = 0;
  const TimedInstance* longest = nullptr;
  for (const TimedInstance* instance : step) {
    const Call* call = call_of(*instance, late.rank);
    if (call == nullptr || call->communicator == late.communicator) continue;
    if (call->end_ns > late.start_ns || call->start_ns < left_ns) continue;
    waited_ns += call->wait_ns;
    if (call->wait_ns > longest_ns) {
      longest_ns = call->wait_ns;
      longest = instance;
    }
  }
  return 2 * waited_ns >= wait_ns ? longest : nullptr;
}

void add_rank(StragglerChain& chain, int32_t rank) {
  const bool known = std::find(chain.ranks.begin(), chain.ranks.end(), rank) != chain.ranks.end();
  if (!known && chain.ranks.size() < kMostChainRanks) chain.ranks.push_back(rank);
}

void add_hops(StragglerChain& chain, const Step& step, const TimedInstance* instance) {
  const Call* victim = &longest_waiter(*instance);
  while (victim->wait_ns > 0 && chain.hops.size() < kMostHops) {
    const Call* late = awaited(*instance, *victim);
    if (late == nullptr) return;
    chain.hops.push_back({late->rank, victim->rank, late->communicator, late->start_ns, victim->wait_ns});
    instance = earlier_wait(step, *late, victim->wait_ns);
    if (instance == nullptr) return;
    victim = call_of(*instance, late->rank);
  }
}

// Calls of the ranks shown, from the first wait of the chain to the end of the worst instance, and a tenth around.
void add_calls(StragglerChain& chain, const Step& step, const TimedInstance& worst) {
  int64_t from = INT64_MAX, to = INT64_MIN;
  for (const StragglerChain::Hop& hop : chain.hops) from = std::min(from, hop.arrival_ns - hop.wait_ns);
  for (const Call& call : worst.calls) to = std::max(to, call.end_ns);
  const int64_t margin = (to - from) / 10;
  for (const TimedInstance* instance : step) {
    for (const Call& call : instance->calls) {
      const bool shown = std::find(chain.ranks.begin(), chain.ranks.end(), call.rank) != chain.ranks.end();
      if (shown && call.end_ns >= from - margin && call.start_ns <= to + margin) chain.calls.push_back(&call);
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

StragglerChain straggler_chain(const std::vector<TimedInstance>& instances) {
  StragglerChain chain;
  if (instances.empty()) return chain;
  const Step step = worst_step(instances);
  const TimedInstance& worst = **std::max_element(step.begin(), step.end(),
                                                  [](const auto* a, const auto* b) { return a->wait_ns < b->wait_ns; });
  chain.step = worst.step;
  add_hops(chain, step, &worst);
  if (chain.hops.empty()) return chain;
  for (auto hop = chain.hops.rbegin(); hop != chain.hops.rend(); ++hop) add_rank(chain, hop->late);
  for (auto hop = chain.hops.rbegin(); hop != chain.hops.rend(); ++hop) add_rank(chain, hop->victim);
  std::vector<const Call*> members;
  for (const Call& call : worst.calls) members.push_back(&call);
  std::stable_sort(members.begin(), members.end(),
                   [](const Call* a, const Call* b) { return a->wait_ns > b->wait_ns; });
  for (const Call* member : members) add_rank(chain, member->rank);
  add_calls(chain, step, worst);
  return chain;
}

}  // namespace skewscope::report
