#include "calls_in_order.h"

#include <algorithm>
#include <map>

namespace skewscope {
namespace {

using CallNumbers = std::vector<std::vector<size_t>>;  // by member

// Calls of the steps in which all members made the same; none where these are fewer than half of anyone's.
CallNumbers calls_of_equal_steps(const std::vector<MemberCalls>& members, const std::vector<int32_t>& open) {
  std::vector<std::map<int64_t, std::vector<size_t>>> steps;  // by member
  for (const int32_t m : open) {
    const MemberCalls& calls = members[static_cast<size_t>(m)];
    steps.emplace_back();
    for (size_t c = 0; c < calls.size(); ++c) steps.back()[calls[c].step].push_back(c);
  }
  CallNumbers equal(open.size());
  const auto signature = [&](size_t k, size_t call) { return members[static_cast<size_t>(open[k])][call].signature; };
  for (const auto& of_first : steps.front()) {
    const int64_t step = of_first.first;
    const std::vector<size_t>& first = of_first.second;
    bool all = step >= 0;
    for (size_t k = 1; k < open.size() && all; ++k) {
      const auto own = steps[k].find(step);
      all = own != steps[k].end() && std::equal(first.begin(), first.end(), own->second.begin(), own->second.end(),
                                                [&](size_t a, size_t b) { return signature(0, a) == signature(k, b); });
    }
    if (!all) continue;
    for (size_t k = 0; k < open.size(); ++k) {
      const std::vector<size_t>& own = steps[k].at(step);
      equal[k].insert(equal[k].end(), own.begin(), own.end());
    }
  }
  for (size_t k = 0; k < open.size(); ++k) {
    if (2 * equal[k].size() < members[static_cast<size_t>(open[k])].size()) return {};
    std::sort(equal[k].begin(), equal[k].end());
  }
  return equal;
}

// All calls, where all members made the same in the same order.
CallNumbers calls_of_equal_order(const std::vector<MemberCalls>& members, const std::vector<int32_t>& open) {
  const MemberCalls& first = members[static_cast<size_t>(open.front())];
  const auto same = [&](int32_t m) {
    return std::equal(first.begin(), first.end(), members[static_cast<size_t>(m)].begin(),
                      members[static_cast<size_t>(m)].end(),
                      [](const MatchCall& a, const MatchCall& b) { return a.signature == b.signature; });
  };
  if (!std::all_of(open.begin(), open.end(), same)) return {};
  std::vector<size_t> all(first.size());
  for (size_t c = 0; c < all.size(); ++c) all[c] = c;
  return CallNumbers(open.size(), all);
}

}  // namespace

std::optional<OrderedCandidates> candidates_in_order(const std::vector<MemberCalls>& members,
                                                     const std::vector<int32_t>& open) {
  OrderedCandidates found;
  CallNumbers numbers = calls_of_equal_steps(members, open);
  if (numbers.empty()) {
    found.by_step = false;
    numbers = calls_of_equal_order(members, open);
  }
  if (numbers.empty()) return std::nullopt;
  const MemberCalls& hub = members[static_cast<size_t>(open.front())];
  found.candidates.instances.resize(numbers.front().size());
  found.candidates.method.assign(numbers.front().size(), MatchMethod::step);
  for (size_t m = 0; m < open.size(); ++m) {
    const MemberCalls& calls = members[static_cast<size_t>(open[m])];
    std::vector<ClockTie> ties;
    for (size_t k = 0; k < numbers[m].size(); ++k) {
      const int64_t end_ns = calls[numbers[m][k]].end_ns;
      ties.push_back({end_ns, hub[numbers[0][k]].end_ns - end_ns});
    }
    const ClockLine line = resistant_line(std::move(ties));
    for (size_t k = 0; k < numbers[m].size(); ++k) {
      const size_t number = numbers[m][k];
      found.candidates.instances[k].push_back(on_hub_clock(calls[number], line, open[m], static_cast<int32_t>(number)));
    }
  }
  return found;
}

}  // namespace skewscope
