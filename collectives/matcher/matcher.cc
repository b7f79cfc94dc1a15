#include "matcher.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "join_calls.h"
#include "match_unnamed.h"

namespace skewscope {
namespace {

using Part = MatchOutcome::Part;

// ---- by key ---------------------------------------------------------------------------------------------------------

struct Key {
  uint64_t value;
  int32_t member, call;
};

std::vector<Key> keys_of(const std::vector<MemberCalls>& members, MatchMethod by) {
  std::vector<Key> keys;
  for (size_t m = 0; m < members.size(); ++m) {
    for (size_t c = 0; c < members[m].size(); ++c) {
      const MatchCall& call = members[m][c];
      const bool has = by == MatchMethod::comms_id ? call.comms_id != 0 : call.seq >= 0;
      const uint64_t value = by == MatchMethod::comms_id ? call.comms_id : static_cast<uint64_t>(call.seq);
      if (has) keys.push_back({value, static_cast<int32_t>(m), static_cast<int32_t>(c)});
    }
  }
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return std::tie(a.value, a.member, a.call) < std::tie(b.value, b.member, b.call);
  });
  return keys;
}

// One key's calls are compatible when they agree in signature and no member comes twice.
bool agrees(const std::vector<MemberCalls>& members, const Key* begin, const Key* end) {
  const auto signature = [&](const Key& k) {
    return members[static_cast<size_t>(k.member)][static_cast<size_t>(k.call)].signature;
  };
  for (const Key* k = begin + 1; k < end; ++k) {
    if (k->member == (k - 1)->member || signature(*k) != signature(*begin)) return false;
  }
  return true;
}

// Whether keyed calls of each member lie on one line against the member with most of them: ends that are one instant
// differ by offset and drift alone, ends that share a number by chance differ by whole steps.
bool simultaneous(const std::vector<MemberCalls>& members, const std::vector<Key>& keys,
                  const std::vector<std::pair<size_t, size_t>>& ranges) {
  std::vector<size_t> present(members.size(), 0);
  for (const auto& [low, high] : ranges) {
    for (size_t k = low; k < high; ++k) ++present[static_cast<size_t>(keys[k].member)];
  }
  const auto hub = static_cast<int32_t>(std::max_element(present.begin(), present.end()) - present.begin());
  const auto call = [&](const Key& k) -> const MatchCall& {
    return members[static_cast<size_t>(k.member)][static_cast<size_t>(k.call)];
  };
  std::vector<std::vector<ClockTie>> ties(members.size());
  for (const auto& [low, high] : ranges) {
    size_t at = low;
    while (at < high && keys[at].member != hub) ++at;
    if (at == high || !call(keys[at]).ends_together) continue;
    for (size_t k = low; k < high; ++k) {
      if (k == at || !call(keys[k]).ends_together) continue;
      ties[static_cast<size_t>(keys[k].member)].push_back(
          {call(keys[k]).end_ns, call(keys[at]).end_ns - call(keys[k]).end_ns});
    }
  }
  constexpr double kMostScatter = 5e6;  // ns; ends of one collective agree far better, steps rarely do
  for (const std::vector<ClockTie>& of_member : ties) {
    if (of_member.size() < 4) continue;
    if (scatter_of(of_member, resistant_line(of_member)) > kMostScatter) return false;
  }
  return true;
}

// Members that candidates join, directly or by others, have one number; -1: none.
std::vector<int32_t> joined_members(const std::vector<MemberCalls>& members, const CandidateInstances& candidates) {
  std::vector<int32_t> cluster(members.size(), -1);
  int32_t next = 0;
  for (const CandidateInstance& candidate : candidates.instances) {
    int32_t& first = cluster[static_cast<size_t>(candidate.front().member)];
    if (first < 0) first = next++;
    const int32_t one = first;
    for (const CallOnHubClock& p : candidate) {
      const int32_t other = std::exchange(cluster[static_cast<size_t>(p.member)], one);
      if (other >= 0 && other != one) std::replace(cluster.begin(), cluster.end(), other, one);
    }
  }
  return cluster;
}

// Candidates by equal key; false when the key is absent from most calls or does not prove itself.
bool match_by_key(const std::vector<MemberCalls>& members, MatchMethod by, CandidateInstances& candidates,
                  std::vector<std::vector<UnmatchedReason>>& reason) {
  size_t calls = 0;  // that could have one
  for (const MemberCalls& m : members) {
    calls += static_cast<size_t>(std::count_if(m.begin(), m.end(), [](const MatchCall& call) { return !call.bare; }));
  }
  const std::vector<Key> keys = keys_of(members, by);
  if (keys.empty() || 2 * keys.size() < calls) return false;
  size_t shared = 0, good = 0;
  std::vector<std::pair<size_t, size_t>> ranges, mismatches;
  for (size_t low = 0, high = 0; low < keys.size(); low = high) {
    while (high < keys.size() && keys[high].value == keys[low].value) ++high;
    if (high - low < 2) continue;
    ++shared;
    if (!agrees(members, &keys[low], &keys[low] + (high - low))) {
      mismatches.emplace_back(low, high);
      continue;
    }
    ++good;
    ranges.emplace_back(low, high);
  }
  if (good == 0 || 100 * good < 99 * shared || !simultaneous(members, keys, ranges)) return false;
  for (const auto& [low, high] : mismatches) {
    for (size_t k = low; k < high; ++k) {
      reason[static_cast<size_t>(keys[k].member)][static_cast<size_t>(keys[k].call)] = UnmatchedReason::mismatch;
    }
  }
  for (const auto& [low, high] : ranges) {
    CandidateInstance candidate;
    for (size_t k = low; k < high; ++k) {
      const MatchCall& call = members[static_cast<size_t>(keys[k].member)][static_cast<size_t>(keys[k].call)];
      candidate.push_back({call.signature, call.start_ns, call.end_ns, keys[k].member, keys[k].call});
    }
    candidates.instances.push_back(std::move(candidate));
    candidates.method.push_back(by);
  }
  return true;
}

// ---- by time --------------------------------------------------------------------------------------------------------

// Members that nothing aligns would each be compared with every other: after so many failed tries for each member the
// rest is left as ambiguous.
constexpr size_t kMostTries = 64;

// Whether these are messages that ends joined across steps: buffered ones, whose ends met others'.
bool meet_by_chance(const CandidateInstances& candidates, const std::vector<MemberCalls>& members) {
  int64_t across = 0;
  for (const CandidateInstance& candidate : candidates.instances) {
    const MatchCall &first = call_of(members, candidate[0]), &second = call_of(members, candidate[1]);
    across += first.is_message() && first.step >= 0 && second.step >= 0 && first.step != second.step ? 1 : 0;
  }
  return 10 * across > std::ssize(candidates.instances);
}

void match_members_by_time(const std::vector<MemberCalls>& members, const MemberHints& hints, TimeMatch& match) {
  std::vector<int32_t> open = members_with_calls(members);
  std::vector<bool> ambiguous(members.size(), false);
  size_t tries_left = kMostTries * open.size();
  int32_t number = 0;
  for (; !open.empty() && tries_left > 0; ++number) {
    const Cluster cluster = gather_around_hub(members, open, Membership::known, hints, ambiguous);
    for (const int32_t m : cluster.members) match.cluster_of_member[static_cast<size_t>(m)] = number;
    std::erase_if(open, [&](int32_t m) { return match.cluster_of_member[static_cast<size_t>(m)] >= 0; });
    tries_left -= std::min(tries_left, open.size());
    match.settled = match.settled && number == 0;
    if (cluster.members.size() < 2) continue;
    CandidateInstances candidates = candidates_of(members, cluster, Membership::known);
    if (cluster.lossy) {  // what is in no candidate is left out for its doubtful order
      for (const int32_t m : cluster.members) {
        match.leave_ambiguous(m);
      }
    }
    if (meet_by_chance(candidates, members)) {
      match.settled = false;
      for (const int32_t m : cluster.members) {
        match.leave_ambiguous(m);
      }
      continue;
    }
    keep_causal(std::move(candidates), members, cluster.tolerance_ns, match);
  }
  for (const int32_t m : open) {
    match.cluster_of_member[static_cast<size_t>(m)] = number++;
    ambiguous[static_cast<size_t>(m)] = true;
  }
  std::map<int32_t, size_t> sizes;
  for (const int32_t cluster : match.cluster_of_member) ++sizes[cluster];
  for (size_t m = 0; m < members.size(); ++m) {
    if (!ambiguous[m] || sizes.at(match.cluster_of_member[m]) > 1) continue;
    match.leave_ambiguous(static_cast<int32_t>(m));
  }
}

// ---- outcome --------------------------------------------------------------------------------------------------------

// Numbers instances by Seq where a key matched them, else by the end of their first part; lists what is in none.
void finish(const std::vector<MemberCalls>& members, CandidateInstances& candidates,
            const std::vector<std::vector<UnmatchedReason>>& reason, MatchOutcome& outcome) {
  std::vector<size_t> order(candidates.instances.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (CandidateInstance& candidate : candidates.instances) {
    std::sort(candidate.begin(), candidate.end(),
              [](const CallOnHubClock& a, const CallOnHubClock& b) { return a.member < b.member; });
  }
  const auto position = [&](size_t r) {
    const CallOnHubClock& p = candidates.instances[r].front();
    const bool by_key = candidates.method[r] == MatchMethod::comms_id || candidates.method[r] == MatchMethod::seq;
    const int64_t seq = by_key ? call_of(members, p).seq : -1;
    return std::make_tuple(seq, p.end_ns, p.member, p.call);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return position(a) < position(b); });
  std::vector<std::vector<bool>> used;
  for (const MemberCalls& m : members) used.emplace_back(m.size(), false);
  for (const size_t r : order) {
    const auto instance = static_cast<int32_t>(outcome.method.size());
    outcome.method.push_back(candidates.method[r]);
    for (const CallOnHubClock& p : candidates.instances[r]) {
      outcome.parts.push_back({instance, p.member, p.call});
      used[static_cast<size_t>(p.member)][static_cast<size_t>(p.call)] = true;
    }
  }
  for (size_t m = 0; m < members.size(); ++m) {
    for (size_t c = 0; c < members[m].size(); ++c) {
      if (!used[m][c]) outcome.left.push_back({static_cast<int32_t>(m), static_cast<int32_t>(c), reason[m][c]});
    }
  }
}

}  // namespace

MatchOutcome match_members(const std::vector<MemberCalls>& members, Membership membership, const MemberHints& hints) {
  MatchOutcome outcome;
  std::vector<std::vector<UnmatchedReason>> reason;
  for (const MemberCalls& m : members) {
    std::vector<UnmatchedReason>& of_member = reason.emplace_back();
    for (const MatchCall& call : m)
      of_member.push_back(call.bare ? UnmatchedReason::no_metadata : UnmatchedReason::alone);
  }
  CandidateInstances candidates;
  // Groups that nobody names may count alike side by side: their Seq joins nothing. A Comms Id is of one group.
  if (match_by_key(members, MatchMethod::comms_id, candidates, reason) ||
      (membership == Membership::known && match_by_key(members, MatchMethod::seq, candidates, reason))) {
    outcome.cluster = joined_members(members, candidates);
    finish(members, candidates, reason, outcome);
    return outcome;
  }
  TimeMatch match{{}, std::move(reason), std::vector<int32_t>(members.size(), -1), true};
  if (membership == Membership::known) {
    match_members_by_time(members, hints, match);
  } else {
    match_unnamed(members, membership, hints, match);
  }
  finish(members, match.candidates, match.reasons, outcome);
  outcome.cluster = std::move(match.cluster_of_member);
  outcome.settled = match.settled;
  outcome.ends_agree = match.ends_agree;
  return outcome;
}

}  // namespace skewscope
