#include "hub_cluster.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <mutex>

#include "causal_shift.h"

namespace skewscope {
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
    if (shift.evidence == ShiftEvidence::step) cluster.method = MatchMethod::step;
    cluster.members.push_back(m);
    cluster.lines.push_back(shift.line);
    cluster.scatter_ns.push_back(shift.scatter_ns);
    cluster.order.push_back(shift.order);
    cluster.by_step.push_back(shift.by_step);
  }
  return cluster;
}

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

}  // namespace skewscope
