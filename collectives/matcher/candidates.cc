#include "candidates.h"

#include <algorithm>
#include <utility>

#include "collectives/open_end.h"

namespace skewscope {

bool meet(const CandidateInstance& candidate) {
  int64_t shortest = INT64_MAX;
  for (const CallOnHubClock& p : candidate) {
    if (!lacks_end(p.end_ns - p.start_ns)) shortest = std::min(shortest, p.end_ns - p.start_ns);
  }
  return overlap(candidate, shortest < INT64_MAX ? -shortest / 2 : 0);
}

bool overlap(const CandidateInstance& candidate, int64_t slack_ns) {
  int64_t last_start = INT64_MIN, first_end = INT64_MAX;
  for (const CallOnHubClock& p : candidate) {
    last_start = std::max(last_start, p.start_ns);
    if (!lacks_end(p.end_ns - p.start_ns)) first_end = std::min(first_end, p.end_ns);
  }
  return first_end >= last_start - slack_ns;
}

bool causal(const CandidateInstance& candidate, const std::vector<MemberCalls>& members, int64_t slack_ns) {
  const MatchCall& first = call_of(members, candidate.front());
  const auto all = [&](const CallOnHubClock& p) { return call_of(members, p).ends_together; };
  if (std::all_of(candidate.begin(), candidate.end(), all)) return overlap(candidate, slack_ns);
  if (candidate.size() != 2 || (first.kind != CollectiveKind::send && first.kind != CollectiveKind::recv)) return true;
  const size_t sender = first.kind == CollectiveKind::send ? 0 : 1;
  return candidate[sender].start_ns <= candidate[1 - sender].end_ns + slack_ns;
}

void keep_causal(CandidateInstances candidates, const std::vector<MemberCalls>& members, int64_t slack_ns,
                 TimeMatch& match) {
  for (size_t r = 0; r < candidates.instances.size(); ++r) {
    if (causal(candidates.instances[r], members, slack_ns)) {
      match.candidates.instances.push_back(std::move(candidates.instances[r]));
      match.candidates.method.push_back(candidates.method[r]);
      continue;
    }
    for (const CallOnHubClock& p : candidates.instances[r]) {
      match.reasons[static_cast<size_t>(p.member)][static_cast<size_t>(p.call)] = UnmatchedReason::causality;
    }
  }
}

}  // namespace skewscope
