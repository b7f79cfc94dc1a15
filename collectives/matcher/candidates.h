// Candidates: calls of several members, on one clock, that may be one instance; and what cause and effect allow.
#pragma once

#include <cstdint>
#include <vector>

#include "match_method.h"
#include "member_calls.h"

namespace skewscope {

struct CallOnHubClock {
  uint64_t signature;
  int64_t start_ns, end_ns;
  int32_t member, call;
};

inline const MatchCall& call_of(const std::vector<MemberCalls>& members, const CallOnHubClock& part) {
  return members[static_cast<size_t>(part.member)][static_cast<size_t>(part.call)];
}

inline CallOnHubClock on_hub_clock(const MatchCall& call, const ClockLine& to_hub, int32_t member, int32_t number) {
  return {call.signature, to_hub.apply(call.start_ns), to_hub.apply(call.end_ns), member, number};
}

using CandidateInstance = std::vector<CallOnHubClock>;

struct CandidateInstances {
  std::vector<CandidateInstance> instances;
  std::vector<MatchMethod> method;  // per instance
};

// The member's part; null: it has none.
inline const CallOnHubClock* part_of_member(const CandidateInstance& candidate, int32_t member) {
  for (const CallOnHubClock& part : candidate) {
    if (part.member == member) return &part;
  }
  return nullptr;
}

// What became of calls matched by time.
struct TimeMatch {
  CandidateInstances candidates;
  std::vector<std::vector<UnmatchedReason>> reasons;  // per member and call, of those in no candidate
  std::vector<int32_t> cluster_of_member;
  bool settled = true;
  bool ends_agree = false;

  void leave_ambiguous(int32_t member) {
    std::vector<UnmatchedReason>& of_member = reasons[static_cast<size_t>(member)];
    of_member.assign(of_member.size(), UnmatchedReason::ambiguous);
  }
};

// Whether all parts are in it together for half of what the shortest of them is.
bool meet(const CandidateInstance& candidate);

// Whether all parts run at one time, up to `slack_ns`: order alone does not make partners.
bool overlap(const CandidateInstance& candidate, int64_t slack_ns);

// Whether nobody leaves before those arrived whom it waits for, up to `slack_ns`: all, a receiver's sender; of roots
// nothing is known here.
bool causal(const CandidateInstance& candidate, const std::vector<MemberCalls>& members, int64_t slack_ns);

// Keeps the candidates that obey causality; the others' calls get it as their reason.
void keep_causal(CandidateInstances candidates, const std::vector<MemberCalls>& members, int64_t slack_ns,
                 TimeMatch& match);

}  // namespace skewscope
