#include "collectives/matcher.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

namespace skewscope {
namespace {

using Part = MatchOutcome::Part;

// A call with its end on the hub's clock.
struct Placed {
  uint64_t signature;
  int64_t start_ns, end_ns;
  int32_t member, call;
};

// Instances under construction: the parts of each, and how they were found.
struct Rows {
  std::vector<std::vector<Placed>> rows;
  std::vector<MatchedBy> method;
};

// ---- by key ---------------------------------------------------------------------------------------------------------

struct Key {
  uint64_t value;
  int32_t member, call;
};

std::vector<Key> keys_of(const std::vector<MemberCalls>& members, MatchedBy by) {
  std::vector<Key> keys;
  for (size_t m = 0; m < members.size(); ++m) {
    for (size_t c = 0; c < members[m].size(); ++c) {
      const MatchCall& call = members[m][c];
      const bool has = by == MatchedBy::comms_id ? call.comms_id != 0 : call.seq >= 0;
      const uint64_t value = by == MatchedBy::comms_id ? call.comms_id : static_cast<uint64_t>(call.seq);
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
      if (k == at) continue;
      ties[static_cast<size_t>(keys[k].member)].push_back(
          {call(keys[k]).end_ns, call(keys[at]).end_ns - call(keys[k]).end_ns});
    }
  }
  constexpr double kMostScatter = 5e6;  // ns; ends of one collective agree far better, steps rarely do
  for (const std::vector<ClockTie>& of_member : ties) {
    if (of_member.size() < 4) continue;
    const ClockLine line = resistant_line(of_member);
    std::vector<double> rest;
    for (const ClockTie& tie : of_member) {
      rest.push_back(std::fabs(static_cast<double>(tie.member_end_ns + tie.offset_ns - line.apply(tie.member_end_ns))));
    }
    const auto middle = rest.begin() + static_cast<int64_t>(rest.size() / 2);
    std::nth_element(rest.begin(), middle, rest.end());
    if (*middle > kMostScatter) return false;
  }
  return true;
}

// Rows by equal key; false when the key is absent from most calls or does not prove itself.
bool match_by_key(const std::vector<MemberCalls>& members, MatchedBy by, Rows& rows,
                  std::vector<std::vector<Refusal>>& reason) {
  size_t calls = 0;
  for (const MemberCalls& m : members) calls += m.size();
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
      reason[static_cast<size_t>(keys[k].member)][static_cast<size_t>(keys[k].call)] = Refusal::mismatch;
    }
  }
  for (const auto& [low, high] : ranges) {
    std::vector<Placed> row;
    for (size_t k = low; k < high; ++k) {
      const MatchCall& call = members[static_cast<size_t>(keys[k].member)][static_cast<size_t>(keys[k].call)];
      row.push_back({call.signature, call.start_ns, call.end_ns, keys[k].member, keys[k].call});
    }
    rows.rows.push_back(std::move(row));
    rows.method.push_back(by);
  }
  return true;
}

// ---- by time --------------------------------------------------------------------------------------------------------

struct Cluster {
  std::vector<int32_t> members;
  std::vector<ClockLine> lines;  // per entry of members: to the hub's clock
  MatchedBy method = MatchedBy::fingerprint;
  int64_t tolerance_ns = 0;
};

// The scatter of ends that members of one communicator keep to, where only the ends tell that they are members.
double most_scatter_ns(const MemberCalls& hub, Membership membership) {
  constexpr double kLeast = 5'000, kShareOfSpacing = 5e-4;
  if (membership == Membership::known) return INFINITY;
  return std::max(kLeast, kShareOfSpacing * static_cast<double>(typical_spacing_ns(hub)));
}

// Whether members whose ends alone put them together may be believed: all that record such calls, with one evidence and
// one scatter. Groups that run the same program side by side end at times too similar to draw a line between them.
bool is_one_group(const Cluster& cluster, const std::vector<double>& scatter, size_t recorded) {
  constexpr double kAlike = 2.5, kFloor = 1'500;  // ns; finer scatter is the stamps' own
  if (cluster.members.size() < recorded || cluster.method == MatchedBy::step) return false;
  const auto [least, most] = std::minmax_element(scatter.begin(), scatter.end());
  return scatter.empty() || *most <= kAlike * std::max(kFloor, *least);
}

// Takes the member with most calls as hub and gathers all whose calls can be laid over it.
Cluster gather_around_hub(const std::vector<MemberCalls>& members, Membership membership,
                          const std::vector<int32_t>& open, const std::vector<std::optional<int64_t>>& prior_ns,
                          std::vector<bool>& ambiguous) {
  const auto calls = [&](int32_t m) -> const MemberCalls& { return members[static_cast<size_t>(m)]; };
  int32_t hub = open.front();
  for (const int32_t m : open) {
    if (calls(m).size() > calls(hub).size()) hub = m;
  }
  Cluster cluster;
  cluster.tolerance_ns = join_tolerance_ns(calls(hub));
  const double most_scatter = most_scatter_ns(calls(hub), membership);
  std::vector<double> scatter;
  const auto recorded = static_cast<size_t>(
      std::count_if(members.begin(), members.end(), [](const MemberCalls& m) { return !m.empty(); }));
  for (const int32_t m : open) {
    if (m == hub) {
      cluster.members.push_back(m);
      cluster.lines.emplace_back();
      continue;
    }
    std::optional<int64_t> prior;
    if (!prior_ns.empty() && prior_ns[static_cast<size_t>(m)] && prior_ns[static_cast<size_t>(hub)]) {
      prior = *prior_ns[static_cast<size_t>(m)] - *prior_ns[static_cast<size_t>(hub)];
    }
    const ShiftResult shift = find_shift(calls(hub), calls(m), prior);
    if (shift.evidence == ShiftEvidence::none || shift.evidence == ShiftEvidence::ambiguous) {
      if (shift.evidence == ShiftEvidence::ambiguous) {
        ambiguous[static_cast<size_t>(m)] = ambiguous[static_cast<size_t>(hub)] = true;
      }
      continue;
    }
    if (shift.scatter_ns > most_scatter) continue;
    scatter.push_back(shift.scatter_ns);
    if (shift.evidence == ShiftEvidence::step) cluster.method = MatchedBy::step;
    cluster.members.push_back(m);
    cluster.lines.push_back(shift.line);
  }
  if (membership == Membership::inferred && !is_one_group(cluster, scatter, recorded)) {
    for (const int32_t m : open) ambiguous[static_cast<size_t>(m)] = true;
    cluster.members = {hub};
  }
  return cluster;
}

// All calls of the cluster on the hub's clock, by (signature, end).
std::vector<Placed> place(const std::vector<MemberCalls>& members, const Cluster& cluster) {
  std::vector<Placed> placed;
  for (size_t k = 0; k < cluster.members.size(); ++k) {
    const int32_t m = cluster.members[k];
    const MemberCalls& calls = members[static_cast<size_t>(m)];
    for (size_t c = 0; c < calls.size(); ++c) {
      placed.push_back({calls[c].signature, cluster.lines[k].apply(calls[c].start_ns),
                        cluster.lines[k].apply(calls[c].end_ns), m, static_cast<int32_t>(c)});
    }
  }
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.signature, a.end_ns, a.member, a.call) < std::tie(b.signature, b.end_ns, b.member, b.call);
  });
  return placed;
}

// Runs of equal signature whose ends lie within the tolerance, each member once. What stands alone goes to `rest`.
void join_ends(const std::vector<Placed>& placed, int64_t tolerance_ns, MatchedBy method, Rows& rows,
               std::vector<Placed>& rest) {
  std::vector<Placed> row;
  const auto close = [&] {
    if (row.size() >= 2) {
      rows.rows.push_back(row);
      rows.method.push_back(method);
    } else {
      rest.insert(rest.end(), row.begin(), row.end());
    }
    row.clear();
  };
  for (const Placed& p : placed) {
    const bool fits = !row.empty() && row.front().signature == p.signature &&
                      p.end_ns - row.front().end_ns <= tolerance_ns &&
                      std::none_of(row.begin(), row.end(), [&](const Placed& q) { return q.member == p.member; });
    if (!fits) close();
    row.push_back(p);
  }
  close();
}

// Whether all parts run at one time, up to the tolerance: order alone does not make partners.
bool overlap(const std::vector<Placed>& row, int64_t slack_ns) {
  int64_t last_start = INT64_MIN, first_end = INT64_MAX;
  for (const Placed& p : row) {
    last_start = std::max(last_start, p.start_ns);
    first_end = std::min(first_end, p.end_ns);
  }
  return first_end >= last_start - slack_ns;
}

// Calls that do not leave together: between two neighbouring rows of the cluster, equal signatures match in order when
// all members of the cluster hold equally many of them there and the partners overlap.
void join_order(const std::vector<Placed>& rest, const std::vector<MemberCalls>& members, const Cluster& cluster,
                Rows& rows) {
  std::vector<int64_t> fences;  // ends of the rows: time is cut into segments there
  for (const std::vector<Placed>& row : rows.rows) fences.push_back(row.front().end_ns);
  std::sort(fences.begin(), fences.end());
  std::map<std::pair<int64_t, uint64_t>, std::map<int32_t, std::vector<Placed>>> segments;
  for (const Placed& p : rest) {
    if (members[static_cast<size_t>(p.member)][static_cast<size_t>(p.call)].ends_together) continue;
    const auto segment = std::lower_bound(fences.begin(), fences.end(), p.end_ns) - fences.begin();
    segments[{segment, p.signature}][p.member].push_back(p);
  }
  for (const auto& [key, by_member] : segments) {
    if (by_member.size() != cluster.members.size() || by_member.size() < 2) continue;
    const size_t count = by_member.begin()->second.size();
    if (std::any_of(by_member.begin(), by_member.end(), [&](const auto& m) { return m.second.size() != count; })) {
      continue;
    }
    for (size_t k = 0; k < count; ++k) {
      std::vector<Placed> row;
      for (const auto& [member, calls] : by_member) row.push_back(calls[k]);
      if (!overlap(row, cluster.tolerance_ns)) continue;
      rows.rows.push_back(std::move(row));
      rows.method.push_back(cluster.method);
    }
  }
}

// Nobody leaves before the last one arrived, up to the tolerance of the laid-over clocks.
bool causal(const std::vector<Placed>& row, const std::vector<MemberCalls>& members, int64_t slack_ns) {
  const Placed& first = row.front();
  if (!members[static_cast<size_t>(first.member)][static_cast<size_t>(first.call)].ends_together) return true;
  return overlap(row, slack_ns);
}

// Members that only their ends put together must keep causality to microseconds, or they are several groups.
bool keeps_causality(const Rows& rows, const std::vector<MemberCalls>& members) {
  constexpr int64_t kSlack = 5'000;
  const auto broken = std::count_if(rows.rows.begin(), rows.rows.end(),
                                    [&](const std::vector<Placed>& row) { return !causal(row, members, kSlack); });
  return 100 * broken <= static_cast<int64_t>(rows.rows.size());
}

// ---- outcome --------------------------------------------------------------------------------------------------------

// Numbers instances by Seq where a key matched them, else by the end of their first part; lists what is in none.
void finish(const std::vector<MemberCalls>& members, Rows& rows, const std::vector<std::vector<Refusal>>& reason,
            MatchOutcome& outcome) {
  std::vector<size_t> order(rows.rows.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::vector<Placed>& row : rows.rows) {
    std::sort(row.begin(), row.end(), [](const Placed& a, const Placed& b) { return a.member < b.member; });
  }
  const auto position = [&](size_t r) {
    const Placed& p = rows.rows[r].front();
    const bool by_key = rows.method[r] == MatchedBy::comms_id || rows.method[r] == MatchedBy::seq;
    const int64_t seq = by_key ? members[static_cast<size_t>(p.member)][static_cast<size_t>(p.call)].seq : -1;
    return std::make_tuple(seq, p.end_ns, p.member, p.call);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return position(a) < position(b); });
  std::vector<std::vector<bool>> used;
  for (const MemberCalls& m : members) used.emplace_back(m.size(), false);
  for (const size_t r : order) {
    const auto instance = static_cast<int32_t>(outcome.method.size());
    outcome.method.push_back(rows.method[r]);
    for (const Placed& p : rows.rows[r]) {
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

void match_by_time(const std::vector<MemberCalls>& members, Membership membership,
                   const std::vector<std::optional<int64_t>>& prior_ns, Rows& all,
                   std::vector<std::vector<Refusal>>& reason, std::vector<int32_t>& cluster_of) {
  std::vector<int32_t> open;
  for (size_t m = 0; m < members.size(); ++m) {
    if (!members[m].empty()) open.push_back(static_cast<int32_t>(m));
  }
  std::vector<bool> ambiguous(members.size(), false);
  std::vector<int32_t> refused;
  for (int32_t number = 0; !open.empty(); ++number) {
    if (membership == Membership::inferred && number > 0) {  // a group told by its ends alone is all members, or none
      for (const int32_t m : open) cluster_of[static_cast<size_t>(m)] = number++;
      break;
    }
    const Cluster cluster = gather_around_hub(members, membership, open, prior_ns, ambiguous);
    for (const int32_t m : cluster.members) {
      cluster_of[static_cast<size_t>(m)] = number;
      open.erase(std::find(open.begin(), open.end(), m));
    }
    if (cluster.members.size() < 2) continue;
    Rows rows;
    std::vector<Placed> rest;
    join_ends(place(members, cluster), cluster.tolerance_ns, cluster.method, rows, rest);
    join_order(rest, members, cluster, rows);
    if (membership == Membership::inferred && !keeps_causality(rows, members)) {
      for (const int32_t m : cluster.members) ambiguous[static_cast<size_t>(m)] = true;
      refused.insert(refused.end(), cluster.members.begin(), cluster.members.end());
      continue;
    }
    for (size_t r = 0; r < rows.rows.size(); ++r) {
      if (causal(rows.rows[r], members, cluster.tolerance_ns)) {
        all.rows.push_back(std::move(rows.rows[r]));
        all.method.push_back(rows.method[r]);
        continue;
      }
      for (const Placed& p : rows.rows[r]) {
        reason[static_cast<size_t>(p.member)][static_cast<size_t>(p.call)] = Refusal::causality;
      }
    }
  }
  for (const int32_t m : refused)
    std::fill(reason[static_cast<size_t>(m)].begin(), reason[static_cast<size_t>(m)].end(), Refusal::ambiguous);
  for (size_t m = 0; m < members.size(); ++m) {
    const auto mates = std::count(cluster_of.begin(), cluster_of.end(), cluster_of[m]);
    if (ambiguous[m] && mates < 2) std::fill(reason[m].begin(), reason[m].end(), Refusal::ambiguous);
  }
}

}  // namespace

MatchOutcome match_members(const std::vector<MemberCalls>& members, Membership membership,
                           const std::vector<std::optional<int64_t>>& prior_ns) {
  MatchOutcome outcome;
  outcome.cluster.assign(members.size(), -1);
  std::vector<std::vector<Refusal>> reason;
  for (const MemberCalls& m : members) reason.emplace_back(m.size(), Refusal::alone);
  Rows rows;
  if (match_by_key(members, MatchedBy::comms_id, rows, reason) || match_by_key(members, MatchedBy::seq, rows, reason)) {
    for (size_t m = 0; m < members.size(); ++m) outcome.cluster[m] = members[m].empty() ? -1 : 0;
  } else {
    match_by_time(members, membership, prior_ns, rows, reason, outcome.cluster);
  }
  finish(members, rows, reason, outcome);
  return outcome;
}

}  // namespace skewscope
