#include "match_order.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "causal_shift.h"

namespace skewscope {
namespace {

class OrderJoin {
 public:
  OrderJoin(const std::vector<MemberCalls>& members, const Cluster& cluster, CandidateInstances& candidates)
      : members_(members), cluster_(cluster), candidates_(candidates), column_(members.size(), 0) {
    for (size_t k = 0; k < cluster.members.size(); ++k) {
      column_[static_cast<size_t>(cluster.members[k])] = k;
      candidate_of_.emplace_back(calls_of(k).size(), -1);
    }
    for (size_t r = 0; r < candidates.instances.size(); ++r) put_into(candidates.instances[r], static_cast<int32_t>(r));
  }

  void join() {
    std::vector<int32_t> from(candidate_of_.size(), -1);  // per column: the last call that is settled
    bool head = true;
    for (const size_t fence : fences()) {
      std::vector<int32_t> to(candidate_of_.size());
      for (const CallOnHubClock& p : candidates_.instances[fence]) to[column_[static_cast<size_t>(p.member)]] = p.call;
      if (head) {
        count_outwards(to, -1);
      } else {
        join_between(from, to);
      }
      from = std::move(to);
      head = false;
    }
    if (!head) count_outwards(from, 1);
    drop_emptied();
  }

  bool is_joined(const CallOnHubClock& p) const {
    return candidate_of_[column_[static_cast<size_t>(p.member)]][static_cast<size_t>(p.call)] >= 0;
  }

 private:
  const MemberCalls& calls_of(size_t column) const { return members_[static_cast<size_t>(cluster_.members[column])]; }
  void put_into(const CandidateInstance& candidate, int32_t number) {
    for (const CallOnHubClock& p : candidate)
      candidate_of_[column_[static_cast<size_t>(p.member)]][static_cast<size_t>(p.call)] = number;
  }

  // Rows that hold all members, one after the other in each of them.
  std::vector<size_t> fences() const {
    std::vector<size_t> whole;
    for (size_t r = 0; r < candidates_.instances.size(); ++r) {
      if (candidates_.instances[r].size() == cluster_.members.size()) whole.push_back(r);
    }
    std::sort(whole.begin(), whole.end(), [&](size_t a, size_t b) {
      return candidates_.instances[a].front().end_ns < candidates_.instances[b].front().end_ns;
    });
    std::vector<size_t> fences;
    std::vector<int32_t> last(candidate_of_.size(), -1);
    for (const size_t r : whole) {
      const CandidateInstance& candidate = candidates_.instances[r];
      const auto behind = [&](const CallOnHubClock& p) {
        return p.call > last[column_[static_cast<size_t>(p.member)]];
      };
      if (!std::all_of(candidate.begin(), candidate.end(), behind)) continue;
      for (const CallOnHubClock& p : candidate) last[column_[static_cast<size_t>(p.member)]] = p.call;
      fences.push_back(r);
    }
    return fences;
  }

  // The calls that lie `distance` from those at `base` (call per column), as one candidate; nullopt: they are none.
  std::optional<CandidateInstance> candidate_at(const std::vector<int32_t>& base, int32_t distance, bool fenced) const {
    CandidateInstance candidate;
    const MatchCall* known = nullptr;  // one of which more is known than its kind
    std::optional<int64_t> steps;      // from `base`, of one that tells
    for (size_t k = 0; k < base.size(); ++k) {
      const int64_t at = int64_t{base[k]} + distance;
      if (at < 0 || at >= static_cast<int64_t>(calls_of(k).size())) continue;
      const MatchCall& call = calls_of(k)[static_cast<size_t>(at)];
      candidate.push_back(on_hub_clock(call, cluster_.lines[k], cluster_.members[k], static_cast<int32_t>(at)));
      if (known == nullptr || known->bare) known = &call;
      if (!steps) steps = steps_from(candidate.back(), base);
    }
    if (candidate.size() < 2 || !can_be_one(candidate, fenced) || is_contradicted(candidate)) return std::nullopt;
    const auto fits = [&](const CallOnHubClock& p) {
      const std::optional<int64_t> own = steps_from(p, base);
      return alike(call_of(members_, p), *known) && (!own || *own == *steps);
    };
    if (!std::all_of(candidate.begin(), candidate.end(), fits)) return std::nullopt;
    return candidate;
  }

  // Whether cause and effect allow it: where all wait for all, they are in it together for half of what the last one
  // is. A root, and who sends to one, may be gone before others come: between fences alone order tells of those.
  bool can_be_one(const CandidateInstance& candidate, bool fenced) const {
    if (!call_of(members_, candidate.front()).ends_together) {
      return fenced ? causal(candidate, members_, cluster_.tolerance_ns) : overlap(candidate, cluster_.tolerance_ns);
    }
    return meet(candidate);
  }

  // How many steps lie between it and its member's call at `base`; nullopt where steps do not tell.
  std::optional<int64_t> steps_from(const CallOnHubClock& p, const std::vector<int32_t>& base) const {
    const size_t k = column_[static_cast<size_t>(p.member)];
    const int64_t own = call_of(members_, p).step, there = calls_of(k)[static_cast<size_t>(base[k])].step;
    return own < 0 || there < 0 ? std::nullopt : std::optional(own - there);
  }

  // Whether ends joined some of it to calls at another place of the order.
  bool is_contradicted(const CandidateInstance& candidate) const {
    std::vector<int32_t> joined;  // of each part: the candidate that ends made
    for (const CallOnHubClock& p : candidate) {
      const int32_t own = candidate_of_[column_[static_cast<size_t>(p.member)]][static_cast<size_t>(p.call)];
      if (own >= 0) joined.push_back(own);
    }
    std::sort(joined.begin(), joined.end());
    for (size_t low = 0, high = 0; low < joined.size(); low = high) {
      while (high < joined.size() && joined[high] == joined[low]) ++high;
      if (high - low != candidates_.instances[static_cast<size_t>(joined[low])].size()) return true;
    }
    return false;
  }

  void take(CandidateInstance candidate) {
    const auto number = static_cast<int32_t>(candidates_.instances.size());
    for (const CallOnHubClock& p : candidate) {
      const int32_t before = candidate_of_[column_[static_cast<size_t>(p.member)]][static_cast<size_t>(p.call)];
      if (before >= 0) candidates_.instances[static_cast<size_t>(before)].clear();
    }
    put_into(candidate, number);
    candidates_.instances.push_back(std::move(candidate));
    candidates_.method.push_back(cluster_.method);
  }

  void join_between(const std::vector<int32_t>& from, const std::vector<int32_t>& to) {
    const int32_t count = to.front() - from.front() - 1;
    if (count == 0) return;
    for (size_t k = 0; k < from.size(); ++k) {
      if (to[k] - from[k] - 1 != count) return;
    }
    std::vector<CandidateInstance> between;
    for (int32_t distance = 1; distance <= count; ++distance) {
      std::optional<CandidateInstance> candidate = candidate_at(from, distance, true);
      if (!candidate) return;
      between.push_back(std::move(*candidate));
    }
    for (CandidateInstance& candidate : between) take(std::move(candidate));
  }

  void count_outwards(const std::vector<int32_t>& base, int32_t direction) {
    for (int32_t distance = direction;; distance += direction) {
      std::optional<CandidateInstance> candidate = candidate_at(base, distance, false);
      if (!candidate) return;
      take(std::move(*candidate));
    }
  }

  void drop_emptied() {
    size_t kept = 0;
    for (size_t r = 0; r < candidates_.instances.size(); ++r) {
      if (candidates_.instances[r].empty()) continue;
      if (kept != r) {
        candidates_.instances[kept] = std::move(candidates_.instances[r]);
        candidates_.method[kept] = candidates_.method[r];
      }
      ++kept;
    }
    candidates_.instances.resize(kept);
    candidates_.method.resize(kept);
  }

  const std::vector<MemberCalls>& members_;
  const Cluster& cluster_;
  CandidateInstances& candidates_;
  std::vector<size_t> column_;                      // per member: its entry of the cluster
  std::vector<std::vector<int32_t>> candidate_of_;  // per column and call; -1: in none
};

}  // namespace

void join_by_order(const std::vector<MemberCalls>& members, const Cluster& cluster, std::vector<CallOnHubClock>& rest,
                   CandidateInstances& candidates) {
  const auto whole = [&](const CandidateInstance& candidate) { return candidate.size() == cluster.members.size(); };
  if (rest.empty() && std::all_of(candidates.instances.begin(), candidates.instances.end(), whole)) return;
  OrderJoin order(members, cluster, candidates);
  order.join();
  std::erase_if(rest, [&](const CallOnHubClock& p) { return order.is_joined(p); });
}

}  // namespace skewscope
