#include "lost_messages.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>

namespace skewscope::matching {
namespace {

// Calls of each step but the first and the last, which the recording may cut.
std::map<int64_t, int64_t> calls_by_step(const std::vector<const CollectiveCall*>& calls) {
  std::map<int64_t, int64_t> count;
  for (const CollectiveCall* call : calls) ++count[call->step];
  count.erase(-1);
  for (const bool last : {false, true}) {
    if (!count.empty()) count.erase(last ? std::prev(count.end()) : count.begin());
  }
  return count;
}

LostMessages count_of(const CallGroup& group) {
  const std::map<int64_t, int64_t> own = calls_by_step(group.calls[0]), other = calls_by_step(group.calls[1]);
  LostMessages found;
  for (const auto& [step, calls] : own) {
    const auto there = other.find(step);
    if (there == other.end()) continue;
    found.messages += std::max(calls, there->second);
    found.uneven += std::abs(calls - there->second);
  }
  return found;
}

}  // namespace

LostMessages count_lost_messages(const std::vector<CallGroup>& groups, Exchange& exchange) {
  std::vector<LostMessages> found(1);
  for (const CallGroup& group : groups) {
    if (!group.key.pair() || group.members.size() != 2) continue;
    const LostMessages of_pair = count_of(group);
    found.front().messages += of_pair.messages;
    found.front().uneven += of_pair.uneven;
  }
  LostMessages all;
  for (const LostMessages& own : all_rows(exchange, std::move(found))) {
    all.messages += own.messages;
    all.uneven += own.uneven;
  }
  return all;
}

bool is_lossy(const CallGroup& group, const LostMessages& lost) {
  constexpr double kMostLost = 0.05;  // per step: of as many both ends lack one in a few of a thousand steps
  if (!group.key.pair() || lost.uneven == 0) return false;
  std::set<int64_t> steps;
  size_t calls = 0;
  for (const auto& of_member : group.calls) {
    for (const CollectiveCall* call : of_member) steps.insert(call->step);
    calls = std::max(calls, of_member.size());
  }
  return lost.share() / 2 * static_cast<double>(calls) > kMostLost * static_cast<double>(steps.size());
}

}  // namespace skewscope::matching
