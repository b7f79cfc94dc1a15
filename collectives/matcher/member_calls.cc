#include "member_calls.h"

#include <algorithm>
#include <map>

namespace skewscope {

std::vector<int32_t> members_with_calls(const std::vector<MemberCalls>& members) {
  std::vector<int32_t> open;
  for (size_t m = 0; m < members.size(); ++m) {
    if (!members[m].empty()) open.push_back(static_cast<int32_t>(m));
  }
  return open;
}

std::vector<PlaceInStep> places_in_steps(const MemberCalls& calls) {
  std::map<int64_t, int32_t> count;
  std::vector<PlaceInStep> places;
  for (const MatchCall& call : calls) places.push_back({call.step, count[call.step]++, 0});
  for (PlaceInStep& place : places) place.of = count[place.step];
  return places;
}

bool sends_or_receives(const MemberCalls& calls) {
  return std::any_of(calls.begin(), calls.end(), [](const MatchCall& call) { return call.is_message(); });
}

bool any_of_batch(const MemberCalls& calls) {
  return std::any_of(calls.begin(), calls.end(), [](const MatchCall& call) { return call.of_batch; });
}

bool alike(const MatchCall& a, const MatchCall& b) {
  return a.signature == b.signature || ((a.bare || b.bare) && a.kind == b.kind);
}

}  // namespace skewscope
