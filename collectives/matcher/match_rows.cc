#include "match_rows.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>

#include "causal_shift.h"
#include "match_order.h"
#include "collectives/open_end.h"

namespace skewscope {

Cluster part_of(const Cluster& cluster, const std::function<bool(size_t)>& keep) {
  Cluster part;
  part.hub = cluster.hub;
  part.method = cluster.method;
  part.tolerance_ns = cluster.tolerance_ns;
  for (size_t k = 0; k < cluster.members.size(); ++k) {
    if (!keep(k)) continue;
    part.members.push_back(cluster.members[k]);
    part.lines.push_back(cluster.lines[k]);
    part.scatter_ns.push_back(cluster.scatter_ns[k]);
    part.order.push_back(cluster.order[k]);
    part.by_step.push_back(cluster.by_step[k]);
  }
  return part;
}

std::vector<int32_t> members_with_calls(const std::vector<MemberCalls>& members) {
  std::vector<int32_t> open;
  for (size_t m = 0; m < members.size(); ++m) {
    if (!members[m].empty()) open.push_back(static_cast<int32_t>(m));
  }
  return open;
}

namespace {

// The offset member -> hub.
std::optional<Prior> prior_between(const MemberHints& hints, int32_t member, int32_t hub) {
  if (hints.prior.empty()) return std::nullopt;
  const auto &own = hints.prior[static_cast<size_t>(member)], &of_hub = hints.prior[static_cast<size_t>(hub)];
  if (!own || !of_hub) return std::nullopt;
  return Prior{own->offset_ns - of_hub->offset_ns, own->error_ns + of_hub->error_ns};
}

bool on_one_host(const MemberHints& hints, int32_t member, int32_t hub) {
  if (hints.host.empty()) return false;
  const int32_t host = hints.host[static_cast<size_t>(member)];
  return host >= 0 && host == hints.host[static_cast<size_t>(hub)];
}

// The member with most calls.
int32_t hub_of(const std::vector<MemberCalls>& members, const std::vector<int32_t>& open) {
  int32_t hub = open.front();
  for (const int32_t m : open) {
    if (members[static_cast<size_t>(m)].size() > members[static_cast<size_t>(hub)].size()) hub = m;
  }
  return hub;
}

constexpr double kLeastJoined = 0.8;  // of sends and receives

}  // namespace

Cluster gather_around_hub(const std::vector<MemberCalls>& members, const std::vector<int32_t>& open,
                          Membership membership, const MemberHints& hints, std::vector<bool>& ambiguous) {
  const auto calls = [&](int32_t m) -> const MemberCalls& { return members[static_cast<size_t>(m)]; };
  const int32_t hub = hub_of(members, open);
  if (open.size() == 1)
    return {.hub = hub, .members = {hub}, .lines = {ClockLine()}, .scatter_ns = {0}, .order = {{}}, .by_step = {{}}};
  const ShiftSearch search(calls(hub));
  std::vector<ShiftResult> shifts(open.size());
  tbb::enumerable_thread_specific<VoteRoom> rooms;
  std::once_flag asked;
  std::optional<CausalSearch> by_cause;  // made for the first member that needs it: few do
  const auto causal_find = [&](const MemberCalls& member, const std::optional<Prior>& prior) {
    std::call_once(asked, [&] { by_cause.emplace(calls(hub)); });
    ShiftResult found = by_cause->find(member, prior);
    if (!found.found() && (any_of_batch(member) || any_of_batch(calls(hub)))) {
      found = by_cause->find_by_step(member, prior);
    }
    return found;
  };
  tbb::parallel_for(size_t{0}, open.size(), [&](size_t k) {
    const int32_t m = open[k];
    if (m == hub) return;
    const std::optional<Prior> prior = prior_between(hints, m, hub);
    const bool known = membership == Membership::known;
    const bool order_first = known && (sends_or_receives(calls(m)) || sends_or_receives(calls(hub)));
    if (order_first) shifts[k] = causal_find(calls(m), prior);
    if (shifts[k].found()) return;
    if (known && (any_of_batch(calls(m)) || any_of_batch(calls(hub)))) {  // no ends to search by
      shifts[k] = {ShiftEvidence::ambiguous, {}, 0, 0, {}, {}};
      return;
    }
    shifts[k] = search.find(calls(m), prior, on_one_host(hints, m, hub), known, rooms.local());
    // Ends of buffered messages meet others' by chance, but only some.
    if (order_first && shifts[k].found() && shifts[k].joined < kLeastJoined) {
      shifts[k] = {ShiftEvidence::ambiguous, {}, 0, 0, {}, {}};
    }
    if (shifts[k].found() || !known || order_first) return;
    const ShiftResult causal = causal_find(calls(m), prior);
    if (causal.found()) shifts[k] = causal;
  });
  Cluster cluster;
  cluster.hub = hub;
  cluster.tolerance_ns = search.tolerance_ns();
  cluster.lossy = hints.lossy;
  for (size_t k = 0; k < open.size(); ++k) {
    const int32_t m = open[k];
    if (m == hub) {
      cluster.members.push_back(m);
      cluster.lines.emplace_back();
      cluster.scatter_ns.push_back(0);
      cluster.order.emplace_back();
      cluster.by_step.emplace_back();
      continue;
    }
    const ShiftResult& shift = shifts[k];
    if (!shift.found()) {
      if (shift.evidence == ShiftEvidence::ambiguous) {
        ambiguous[static_cast<size_t>(m)] = ambiguous[static_cast<size_t>(hub)] = true;
      }
      continue;
    }
    if (shift.evidence == ShiftEvidence::step) cluster.method = MatchedBy::step;
    cluster.members.push_back(m);
    cluster.lines.push_back(shift.line);
    cluster.scatter_ns.push_back(shift.scatter_ns);
    cluster.order.push_back(shift.order);
    cluster.by_step.push_back(shift.by_step);
  }
  return cluster;
}

namespace {

// All calls of the cluster on the hub's clock, by (signature, end).
std::vector<Placed> place(const std::vector<MemberCalls>& members, const Cluster& cluster) {
  std::vector<size_t> first{0};  // row of each member's first call
  for (const int32_t m : cluster.members) first.push_back(first.back() + members[static_cast<size_t>(m)].size());
  std::vector<Placed> placed(first.back());
  tbb::parallel_for(size_t{0}, cluster.members.size(), [&](size_t k) {
    const int32_t m = cluster.members[k];
    const MemberCalls& calls = members[static_cast<size_t>(m)];
    for (size_t c = 0; c < calls.size(); ++c) {
      placed[first[k] + c] = {calls[c].signature, cluster.lines[k].apply(calls[c].start_ns),
                              cluster.lines[k].apply(calls[c].end_ns), m, static_cast<int32_t>(c)};
    }
  });
  tbb::parallel_sort(placed, [](const Placed& a, const Placed& b) {
    return std::tie(a.signature, a.end_ns, a.member, a.call) < std::tie(b.signature, b.end_ns, b.member, b.call);
  });
  return placed;
}

// Runs of equal signature whose ends lie within the tolerance, each of `members` once. What stands alone goes to
// `rest`.
void join_ends(const std::vector<Placed>& placed, size_t members, int64_t tolerance_ns, MatchedBy method, Rows& rows,
               std::vector<Placed>& rest) {
  std::vector<Placed> row;
  std::vector<int64_t> last_row(members, -1);  // that the member was in
  int64_t number = 0;
  const auto close = [&] {
    ++number;
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
                      p.end_ns - row.front().end_ns <= tolerance_ns && last_row[static_cast<size_t>(p.member)] < number;
    if (!fits) close();
    last_row[static_cast<size_t>(p.member)] = number;
    row.push_back(p);
  }
  close();
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

int64_t middle_of(std::vector<int64_t>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of the member that is not the hub: per call the hub's, by the one order or step by step.
std::vector<int32_t> partners_of(const MemberCalls& hub, const MemberCalls& member, const Cluster& cluster, size_t k) {
  if (!cluster.order[k]) return cluster.by_step[k];
  std::vector<int32_t> partners;
  for (int64_t c = 0; c < std::ssize(member); ++c) {
    const int64_t other = c + *cluster.order[k];
    partners.push_back(other >= 0 && other < std::ssize(hub) ? static_cast<int32_t>(other) : -1);
  }
  return partners;
}

// Of two members whose calls their order tied: those whose ends lie together, and those that their steps tell:
// messages, and all where ends lie together only by chance.
Rows rows_in_order(const std::vector<MemberCalls>& members, const Cluster& cluster) {
  const size_t of_hub = cluster.members[0] == cluster.hub ? 0 : 1, of_member = 1 - of_hub;
  const auto calls = [&](size_t k) -> const MemberCalls& { return members[static_cast<size_t>(cluster.members[k])]; };
  const auto place_call = [&](size_t k, int32_t c) -> Placed {
    const MatchCall& call = calls(k)[static_cast<size_t>(c)];
    const ClockLine& line = cluster.lines[k];
    return {call.signature, line.apply(call.start_ns), line.apply(call.end_ns), cluster.members[k], c};
  };
  const std::vector<int32_t> partners = partners_of(calls(of_hub), calls(of_member), cluster, of_member);
  const std::optional<int64_t> order = cluster.order[of_member];
  const std::vector<bool> told =
      order ? told_by_steps(calls(of_hub), calls(of_member), *order) : std::vector<bool>(partners.size(), true);
  enum Class : size_t { leave_together, message, of_batch };
  const auto class_of = [&](size_t c) {
    const MatchCall &a = calls(of_hub)[static_cast<size_t>(partners[c])], &b = calls(of_member)[c];
    if (a.of_batch || b.of_batch) return of_batch;
    return a.ends_together && b.ends_together ? leave_together : message;
  };
  struct Candidate {
    Class own;
    bool told;
    Placed first, second;
  };
  std::vector<Candidate> candidates;
  std::array<std::vector<int64_t>, 2> apart_ns;  // of the first two classes
  const auto apart = [](const Placed& a, const Placed& b) { return std::llabs(a.end_ns - b.end_ns); };
  for (size_t c = 0; c < partners.size(); ++c) {
    if (partners[c] < 0) continue;
    candidates.push_back(
        {class_of(c), told[c], place_call(of_hub, partners[c]), place_call(of_member, static_cast<int32_t>(c))});
    const Candidate& pair = candidates.back();
    if (pair.own != of_batch) apart_ns[pair.own].push_back(apart(pair.first, pair.second));
  }
  const std::array<bool, 3> ends_tie = {4 * middle_of(apart_ns[0]) <= cluster.tolerance_ns,
                                        4 * middle_of(apart_ns[1]) <= cluster.tolerance_ns, false};
  Rows rows;
  for (const Candidate& pair : candidates) {
    const bool together = pair.own != of_batch && apart(pair.first, pair.second) <= cluster.tolerance_ns;
    // Order tells where ends do not: of messages that a buffer took, of calls whose ends scatter.
    const bool in_order = !cluster.lossy && (pair.own != leave_together || !ends_tie[pair.own]);
    if (together ? !ends_tie[pair.own] && cluster.lossy : !in_order || !pair.told) continue;
    rows.rows.push_back({pair.first, pair.second});
    rows.method.push_back(cluster.method);
  }
  return rows;
}

// Those of a cluster's members whose order tied them, and whose ends scatter too far to join them by.
Cluster told_by_order(const Cluster& cluster, bool by_order) {
  return part_of(cluster, [&](size_t k) {
    const bool scattered = cluster.order[k] && 4 * cluster.scatter_ns[k] > static_cast<double>(cluster.tolerance_ns);
    return scattered == by_order;
  });
}

// Adds their calls to the rows that hold the hub's.
void add_by_order(const std::vector<MemberCalls>& members, const Cluster& told, Rows& rows) {
  const MemberCalls& hub = members[static_cast<size_t>(told.hub)];
  for (std::vector<Placed>& row : rows.rows) {
    const auto of_hub = std::find_if(row.begin(), row.end(), [&](const Placed& p) { return p.member == told.hub; });
    if (of_hub == row.end()) continue;
    const int32_t hub_call = of_hub->call;
    for (size_t k = 0; k < told.members.size(); ++k) {
      const MemberCalls& calls = members[static_cast<size_t>(told.members[k])];
      const int64_t c = hub_call - *told.order[k];
      if (c < 0 || c >= std::ssize(calls)) continue;
      const MatchCall& call = calls[static_cast<size_t>(c)];
      const ClockLine& line = told.lines[k];
      const Placed placed{call.signature, line.apply(call.start_ns), line.apply(call.end_ns), told.members[k],
                          static_cast<int32_t>(c)};
      const bool one =
          alike(call, hub[static_cast<size_t>(hub_call)]) && (!call.ends_together || meet({row.front(), placed}));
      if (one) row.push_back(placed);
    }
  }
}

}  // namespace

bool meet(const std::vector<Placed>& row) {
  int64_t shortest = INT64_MAX;
  for (const Placed& p : row) {
    if (!lacks_end(p.end_ns - p.start_ns)) shortest = std::min(shortest, p.end_ns - p.start_ns);
  }
  return overlap(row, shortest < INT64_MAX ? -shortest / 2 : 0);
}

bool overlap(const std::vector<Placed>& row, int64_t slack_ns) {
  int64_t last_start = INT64_MIN, first_end = INT64_MAX;
  for (const Placed& p : row) {
    last_start = std::max(last_start, p.start_ns);
    if (!lacks_end(p.end_ns - p.start_ns)) first_end = std::min(first_end, p.end_ns);
  }
  return first_end >= last_start - slack_ns;
}

bool causal(const std::vector<Placed>& row, const std::vector<MemberCalls>& members, int64_t slack_ns) {
  const auto call_of = [&](const Placed& p) -> const MatchCall& {
    return members[static_cast<size_t>(p.member)][static_cast<size_t>(p.call)];
  };
  const MatchCall& first = call_of(row.front());
  const auto all = [&](const Placed& p) { return call_of(p).ends_together; };
  if (std::all_of(row.begin(), row.end(), all)) return overlap(row, slack_ns);
  if (row.size() != 2 || (first.kind != CollectiveKind::send && first.kind != CollectiveKind::recv)) return true;
  const size_t sender = first.kind == CollectiveKind::send ? 0 : 1;
  return row[sender].start_ns <= row[1 - sender].end_ns + slack_ns;
}

Rows rows_of(const std::vector<MemberCalls>& members, const Cluster& cluster, Membership membership) {
  if (cluster.members.size() == 2) {
    const size_t of_member = cluster.members[0] == cluster.hub ? 1 : 0;
    if (cluster.order[of_member] || !cluster.by_step[of_member].empty()) return rows_in_order(members, cluster);
  }
  const Cluster told = told_by_order(cluster, true), by_ends = told_by_order(cluster, false);
  Rows rows;
  std::vector<Placed> rest;
  join_ends(place(members, by_ends), members.size(), by_ends.tolerance_ns, by_ends.method, rows, rest);
  if (membership == Membership::known) join_by_order(members, by_ends, rest, rows);
  join_order(rest, members, by_ends, rows);
  if (!told.members.empty()) add_by_order(members, told, rows);
  return rows;
}

void keep_causal(Rows rows, const std::vector<MemberCalls>& members, int64_t tolerance_ns, Timed& timed) {
  for (size_t r = 0; r < rows.rows.size(); ++r) {
    if (causal(rows.rows[r], members, tolerance_ns)) {
      timed.rows.rows.push_back(std::move(rows.rows[r]));
      timed.rows.method.push_back(rows.method[r]);
      continue;
    }
    for (const Placed& p : rows.rows[r]) {
      timed.reason[static_cast<size_t>(p.member)][static_cast<size_t>(p.call)] = Refusal::causality;
    }
  }
}

}  // namespace skewscope
