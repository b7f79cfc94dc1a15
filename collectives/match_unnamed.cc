#include "collectives/match_unnamed.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "collectives/group_proof.h"

namespace skewscope {
namespace {

// ---- by time --------------------------------------------------------------------------------------------------------

constexpr double kFinestScatter = 1'500;  // ns; finer scatter is the stamps' own

// Members that only their ends put together must keep causality to microseconds, or they are several groups.
bool keeps_causality(const Rows& rows, const std::vector<MemberCalls>& members) {
  constexpr int64_t kSlack = 5'000;
  const auto broken = std::count_if(rows.rows.begin(), rows.rows.end(),
                                    [&](const std::vector<Placed>& row) { return !causal(row, members, kSlack); });
  return 100 * broken <= static_cast<int64_t>(rows.rows.size());
}

// Whether every member shares with the hub the calls that both recorded, up to lost kernels: what meets now and then is
// another group of the same program.
bool meet_throughout(const std::vector<MemberCalls>& members, const Rows& rows, const Cluster& cluster) {
  std::map<int32_t, int64_t> shared;
  for (const std::vector<Placed>& row : rows.rows) {
    if (std::none_of(row.begin(), row.end(), [&](const Placed& p) { return p.member == cluster.hub; })) continue;
    for (const Placed& p : row) ++shared[p.member];
  }
  const MemberCalls& hub = members[static_cast<size_t>(cluster.hub)];
  for (size_t k = 0; k < cluster.members.size(); ++k) {
    if (cluster.members[k] == cluster.hub) continue;
    const MemberCalls& calls = members[static_cast<size_t>(cluster.members[k])];
    const ClockLine& line = cluster.lines[k];
    const int64_t first = std::max(line.apply(calls.front().end_ns), hub.front().end_ns) - cluster.tolerance_ns;
    const int64_t last = std::min(line.apply(calls.back().end_ns), hub.back().end_ns) + cluster.tolerance_ns;
    const auto inside = [&](const MatchCall& call) { return call.end_ns >= first && call.end_ns <= last; };
    const auto own = std::count_if(calls.begin(), calls.end(), [&](MatchCall call) {
      call.end_ns = line.apply(call.end_ns);
      return inside(call);
    });
    if (5 * shared[cluster.members[k]] < 4 * std::max(own, std::count_if(hub.begin(), hub.end(), inside))) return false;
  }
  return true;
}

// Whether the row's calls are such that all members leave together.
bool ends_together(const std::vector<Placed>& row, const std::vector<MemberCalls>& members) {
  const Placed& first = row.front();
  return members[static_cast<size_t>(first.member)][static_cast<size_t>(first.call)].ends_together;
}

// Mean distance of each member's ends from the hub's, of the signature in which it is largest, around their median. The
// mean, because groups that a common step holds in line differ in some calls only.
std::vector<double> distance_from_hub_ns(const Rows& rows, const std::vector<MemberCalls>& members,
                                         const Cluster& cluster) {
  std::map<std::pair<int32_t, uint64_t>, std::vector<double>> differences;  // by member and signature
  for (const std::vector<Placed>& row : rows.rows) {
    const auto hub = std::find_if(row.begin(), row.end(), [&](const Placed& p) { return p.member == cluster.hub; });
    if (hub == row.end() || !ends_together(row, members)) continue;
    for (const Placed& p : row) {
      if (p.member == cluster.hub) continue;
      differences[{p.member, p.signature}].push_back(static_cast<double>(p.end_ns - hub->end_ns));
    }
  }
  std::map<int32_t, double> largest;
  for (auto& [key, values] : differences) {
    const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    const double center = *middle;
    double sum = 0;
    for (const double value : values) sum += std::fabs(value - center);
    double& of_member = largest[key.first];
    of_member = std::max(of_member, sum / static_cast<double>(values.size()));
  }
  std::vector<double> distance;
  for (const auto& [member, value] : largest) distance.push_back(value);
  return distance;
}

// Whether the ends alone may be believed: within the scatter that members of one communicator keep to, the same for
// all, and placed by more than step numbers, which groups that run the same program share.
bool ends_agree(const std::vector<MemberCalls>& members, const Rows& rows, const Cluster& cluster) {
  constexpr double kMostScatter = 5'000, kShareOfSpacing = 5e-4, kAlike = 2.5;  // ns, 1, 1
  if (cluster.method == MatchedBy::step) return false;
  const int64_t spacing_ns = typical_spacing_ns(members[static_cast<size_t>(cluster.hub)]);
  const double limit = std::max(kMostScatter, kShareOfSpacing * static_cast<double>(spacing_ns));
  const std::vector<double> distance = distance_from_hub_ns(rows, members, cluster);
  if (distance.size() + 1 < cluster.members.size()) return false;
  const auto [least, most] = std::minmax_element(distance.begin(), distance.end());
  return *most <= limit && *most <= kAlike * std::max(kFinestScatter, *least);
}

// Whether some members' lateness held up all others.
Bond bond_by_lateness(const Rows& rows, const std::vector<MemberCalls>& members, const Cluster& cluster) {
  std::vector<size_t> column(members.size(), 0);
  for (size_t k = 0; k < cluster.members.size(); ++k) column[static_cast<size_t>(cluster.members[k])] = k;
  std::vector<JointCall> calls;
  for (const std::vector<Placed>& row : rows.rows) {
    if (row.size() != cluster.members.size() || !ends_together(row, members)) continue;
    JointCall& call = calls.emplace_back();
    call.signature = row.front().signature;
    call.start_ns.resize(row.size());
    call.end_ns.resize(row.size());
    for (const Placed& p : row) {
      call.start_ns[column[static_cast<size_t>(p.member)]] = p.start_ns;
      call.end_ns[column[static_cast<size_t>(p.member)]] = p.end_ns;
    }
  }
  return bond_of(calls);
}

// The hub and those whose ends lie clearly closer to its than the others' do; all where no such gap is seen.
Cluster closest_to_hub(const Cluster& cluster) {
  constexpr double kClearly = 4;
  std::vector<double> scatter = cluster.scatter_ns;
  for (double& s : scatter) s = std::max(s, kFinestScatter);
  std::sort(scatter.begin(), scatter.end());
  double limit = scatter.back();
  for (size_t k = 1; k < scatter.size(); ++k) {
    if (scatter[k] < kClearly * scatter[k - 1]) continue;
    limit = scatter[k - 1];
    break;
  }
  Cluster close;
  close.hub = cluster.hub;
  close.method = cluster.method;
  close.tolerance_ns = cluster.tolerance_ns;
  for (size_t k = 0; k < cluster.members.size(); ++k) {
    if (cluster.scatter_ns[k] > limit) continue;
    close.members.push_back(cluster.members[k]);
    close.lines.push_back(cluster.lines[k]);
    close.scatter_ns.push_back(cluster.scatter_ns[k]);
    close.order.push_back(cluster.order[k]);
    close.by_step.push_back(cluster.by_step[k]);
  }
  return close;
}

struct Group {
  Cluster cluster;
  Rows rows;
};

// The members' communicators, or none: all as one, else (no rank missing) in groups of one size, each proven.
std::vector<Group> find_groups(const std::vector<MemberCalls>& members, Membership membership,
                               const ClockHints& hints) {
  constexpr size_t kLeastCalls = 5;
  constexpr size_t kMostMembers = 256;  // of which groups are looked for: every member is laid over every group's hub
  std::vector<int32_t> open = members_with_calls(members);
  const size_t recorded = open.size();
  std::vector<Group> groups;
  while (!open.empty()) {
    std::vector<bool> ambiguous(members.size(), false);
    Cluster cluster = gather_around_hub(members, open, membership, hints, ambiguous);
    if (cluster.members.size() == recorded) {
      Rows rows = rows_of(members, cluster, membership);
      const bool all_ranks = membership == Membership::inferred_of_all_ranks;
      const Bond bond = all_ranks ? bond_by_lateness(rows, members, cluster) : Bond::undecided;
      // Of few calls, those of groups side by side may lie alike by chance.
      const bool enough = !all_ranks || rows.rows.size() >= kLeastCalls;
      const bool one =
          bond == Bond::together || (bond == Bond::undecided && enough && ends_agree(members, rows, cluster));
      // A missing rank's groups leave calls without partner.
      const bool met = !all_ranks || meet_throughout(members, rows, cluster);
      if (one && met && keeps_causality(rows, members)) {
        rows = rows_of(members, cluster, Membership::known);
        groups.push_back({std::move(cluster), std::move(rows)});
        return groups;  // found first, or not at all: later ones are fewer
      }
    }
    if (membership != Membership::inferred_of_all_ranks || recorded > kMostMembers) return {};
    cluster = closest_to_hub(cluster);
    const size_t size = cluster.members.size();
    if (size < 2 || size == recorded || (!groups.empty() && size != groups.front().cluster.members.size())) {
      return {};
    }
    Rows rows = rows_of(members, cluster, membership);
    if (!keeps_causality(rows, members) || !meet_throughout(members, rows, cluster) ||
        bond_by_lateness(rows, members, cluster) != Bond::together) {
      return {};
    }
    for (const int32_t m : cluster.members) open.erase(std::find(open.begin(), open.end(), m));
    groups.push_back({std::move(cluster), std::move(rows)});
  }
  return groups;
}

// ---- by place in the step -------------------------------------------------------------------------------------------

// A call's step, how many calls the member made in it, and which of them it was.
struct StepPlace {
  int64_t step;
  size_t of, ordinal;
  friend bool operator==(const StepPlace&, const StepPlace&) = default;
};

// None where some call is in no step.
std::vector<StepPlace> step_places(const MemberCalls& calls) {
  std::map<int64_t, size_t> count;
  std::vector<StepPlace> places;
  for (const MatchCall& call : calls) {
    if (call.step < 0 || !call.ends_together) return {};
    places.push_back({call.step, 0, count[call.step]++});
  }
  for (StepPlace& place : places) place.of = count[place.step];
  return places;
}

// The k-th calls of all members, on the first one's clock as the ends tell it; none unless all made as many in every
// step.
std::optional<Rows> rows_in_order(const std::vector<MemberCalls>& members, const std::vector<int32_t>& open) {
  const MemberCalls& hub = members[static_cast<size_t>(open.front())];
  const std::vector<StepPlace> places = step_places(hub);
  if (places.empty()) return std::nullopt;
  Rows rows;
  rows.rows.resize(hub.size());
  rows.method.assign(hub.size(), MatchedBy::step);
  for (const int32_t m : open) {
    const MemberCalls& calls = members[static_cast<size_t>(m)];
    if (step_places(calls) != places) return std::nullopt;
    std::vector<ClockTie> ties;
    for (size_t k = 0; k < calls.size(); ++k) {
      if (calls[k].signature != hub[k].signature) return std::nullopt;
      ties.push_back({calls[k].end_ns, hub[k].end_ns - calls[k].end_ns});
    }
    const ClockLine line = resistant_line(std::move(ties));
    for (size_t k = 0; k < calls.size(); ++k) {
      rows.rows[k].push_back(
          {calls[k].signature, line.apply(calls[k].start_ns), line.apply(calls[k].end_ns), m, static_cast<int32_t>(k)});
    }
  }
  return rows;
}

// How likely the ends of a row lie so close by chance if they did not wait for the last to arrive: over the time by
// which it came after all others.
double chance_of(const std::vector<Placed>& row) {
  std::vector<int64_t> start, end;
  for (const Placed& p : row) {
    start.push_back(p.start_ns);
    end.push_back(p.end_ns);
  }
  std::sort(start.begin(), start.end());
  const auto [first, last] = std::minmax_element(end.begin(), end.end());
  const auto gap = static_cast<double>(start.back() - start[start.size() - 2]);
  const auto spread = static_cast<double>(*last - *first);
  return 2 * spread < gap ? 2 * spread / gap : 1;
}

// CPU backends record neither groups nor, mostly, sizes: calls of several communicators may be in one pool, and equal
// counts in every step prove nothing. So all members must hold each other up, nobody may leave before the last arrived,
// and every place in the step must show it on its own: its calls are one communicator's in all steps.
void match_in_step_order(const std::vector<MemberCalls>& members, Timed& timed) {
  constexpr int64_t kSlack = 5'000;  // ns
  constexpr double kChance = 1e-3;
  const std::vector<int32_t> open = members_with_calls(members);
  std::optional<Rows> rows = rows_in_order(members, open);
  if (!rows) return;
  Cluster cluster;
  cluster.hub = open.front();
  cluster.members = open;
  if (bond_by_lateness(*rows, members, cluster) != Bond::together) return;
  const std::vector<StepPlace> places = step_places(members[static_cast<size_t>(cluster.hub)]);
  std::map<std::pair<size_t, size_t>, double> chance;
  for (size_t k = 0; k < places.size(); ++k) {
    double& of_place = chance.emplace(std::make_pair(places[k].of, places[k].ordinal), 1).first->second;
    of_place = causal(rows->rows[k], members, kSlack) ? of_place * chance_of(rows->rows[k]) : INFINITY;
  }
  timed.settled = true;
  for (size_t k = 0; k < places.size(); ++k) {
    if (chance.at({places[k].of, places[k].ordinal}) > kChance) {
      for (const int32_t m : open) timed.reason[static_cast<size_t>(m)][k] = Refusal::ambiguous;
      continue;
    }
    timed.rows.rows.push_back(std::move(rows->rows[k]));
    timed.rows.method.push_back(MatchedBy::step);
  }
  for (const int32_t m : open) timed.cluster[static_cast<size_t>(m)] = 0;
}

}  // namespace

void match_unnamed(const std::vector<MemberCalls>& members, Membership membership, const ClockHints& hints,
                   Timed& timed) {
  if (members_with_calls(members).size() < 2) {
    for (const int32_t m : members_with_calls(members)) timed.cluster[static_cast<size_t>(m)] = 0;
    return;
  }
  std::vector<Group> groups = find_groups(members, membership, hints);
  timed.settled = !groups.empty();
  int32_t number = 0;
  for (Group& group : groups) {
    for (const int32_t m : group.cluster.members) timed.cluster[static_cast<size_t>(m)] = number;
    keep_causal(std::move(group.rows), members, group.cluster.tolerance_ns, timed);
    ++number;
  }
  if (!timed.settled && membership == Membership::inferred_of_all_ranks) match_in_step_order(members, timed);
  if (timed.settled) return;
  for (const int32_t m : members_with_calls(members)) {
    timed.cluster[static_cast<size_t>(m)] = number++;
    std::fill(timed.reason[static_cast<size_t>(m)].begin(), timed.reason[static_cast<size_t>(m)].end(),
              Refusal::ambiguous);
  }
}

}  // namespace skewscope
