// The stage: group calls, match each group alone, then once more with what the others told.
//
// Problem: which calls of which ranks are one collective, when windows differ, kernels are missing, clocks are unknown.
// Idea: calls of one communicator are matched by key or by time (collectives/matcher.h). A communicator with few or
// periodic calls can be ambiguous alone; the groups that did match tell how far the clocks of its members lie apart,
// and with that prior it is tried again. Calls without any group metadata form a group per stream; the members whose
// ends agree become an inferred communicator. Why right: a prior only narrows the search; every match still has to
// agree in signature, ends and causality. Cost: two passes of O(n log n); groups run in parallel and write one slot
// each.

#include <tbb/parallel_for.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "call_groups.h"
#include "coarse_offsets.h"
#include "collectives/match_rules.h"
#include "collectives/traffic.h"
#include "skewscope/matching.h"

namespace skewscope {
namespace {

using matching::CallGroup;
using matching::CoarseOffsets;

// Whether all members that have calls were laid over one another.
bool settled(const MatchOutcome& outcome) {
  return std::all_of(outcome.cluster.begin(), outcome.cluster.end(), [](int32_t c) { return c <= 0; });
}

MatchMethod method_of(MatchedBy by) {
  switch (by) {
    case MatchedBy::comms_id:
      return MatchMethod::comms_id;
    case MatchedBy::seq:
      return MatchMethod::seq;
    case MatchedBy::step:
      return MatchMethod::step;
    case MatchedBy::fingerprint:
      return MatchMethod::fingerprint;
  }
  return MatchMethod::fingerprint;
}

UnmatchedReason reason_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::alone:
      return UnmatchedReason::alone;
    case Refusal::ambiguous:
      return UnmatchedReason::ambiguous;
    case Refusal::causality:
      return UnmatchedReason::causality;
    case Refusal::mismatch:
      return UnmatchedReason::mismatch;
  }
  return UnmatchedReason::alone;
}

// An instance with its parts, before instances are put in order.
struct Draft {
  CollectiveInstance instance;
  std::vector<CallRef> parts;
  int64_t time_ns = 0;  // end of the first part on the coarse common clock
};

struct Builder {
  const JobTrace& job;
  const CoarseOffsets& coarse;
  InstanceTable table;
  std::vector<Draft> drafts;

  // The communicator that calls without metadata turned out to have: the ranks whose ends agree. Its true size is known
  // only when every rank of the job was looked at.
  CommunicatorId infer(const CallGroup& group, const MatchOutcome& outcome, int32_t cluster) {
    Communicator c;
    c.name = group.stream >= 0 ? "stream " + std::to_string(group.stream) : "cpu";
    c.description = "inferred: the trace names no group";
    for (size_t m = 0; m < group.members.size(); ++m) {
      if (outcome.cluster[m] == cluster) c.members.push_back(job[group.members[m]].rank);
    }
    std::sort(c.members.begin(), c.members.end());
    const auto present = static_cast<int32_t>(std::count_if(
        job.traces.begin(), job.traces.end(), [&](const RankTrace& t) { return t.session == group.session; }));
    c.size = present >= job.world_size ? static_cast<int32_t>(c.members.size()) : job.world_size;
    std::vector<Communicator>& all = table.communicators.communicators;
    for (size_t i = job.communicators.size(); i < all.size(); ++i) {
      if (all[i].name == c.name && all[i].members == c.members) return CommunicatorId(static_cast<int64_t>(i));
    }
    all.push_back(std::move(c));
    return CommunicatorId(static_cast<int64_t>(all.size() - 1));
  }

  void add_instance(const CallGroup& group, CommunicatorId communicator, MatchedBy by, const MatchOutcome::Part* begin,
                    const MatchOutcome::Part* end) {
    Draft draft;
    const Communicator& c = table.communicators[communicator];
    for (const MatchOutcome::Part* p = begin; p != end; ++p) {
      const auto m = static_cast<size_t>(p->member);
      draft.parts.push_back({group.members[m], group.rows[m][static_cast<size_t>(p->call)]});
    }
    std::sort(draft.parts.begin(), draft.parts.end());
    CollectiveInstance& i = draft.instance;
    i.communicator = communicator;
    i.session = group.session;
    i.expected = group.pair ? 2 : c.size;
    i.member_count = static_cast<uint32_t>(draft.parts.size());
    i.complete = static_cast<int32_t>(i.member_count) == i.expected;
    i.method = method_of(by);
    describe(draft, c.size);
    drafts.push_back(std::move(draft));
  }

  // Operation, type and size, from the members.
  void describe(Draft& draft, int32_t size) const {
    CollectiveInstance& i = draft.instance;
    int64_t least = -1;
    for (const CallRef& part : draft.parts) {
      const CollectiveCall& call = job[part.trace].calls[static_cast<size_t>(part.call)];
      const int64_t bytes = message_bytes(call.kind, call.dtype, call.in_elements, call.out_elements, size);
      i.bytes = std::max(i.bytes, bytes);
      least = least < 0 ? bytes : std::min(least, bytes);
      i.kind = call.kind == CollectiveKind::recv ? CollectiveKind::send : call.kind;
      i.dtype = call.dtype;
      i.seq = call.seq;
    }
    i.sizes_differ = least != i.bytes && !sizes_may_differ(i.kind);
    const CollectiveCall& first = job[draft.parts.front().trace].calls[static_cast<size_t>(draft.parts.front().call)];
    draft.time_ns = first.end().ns + coarse.offset_ns[draft.parts.front().trace.index()];
  }

  void add_group(const CallGroup& group, const MatchOutcome& outcome) {
    std::map<int32_t, CommunicatorId> inferred;
    const auto communicator_of = [&](int32_t member) {
      if (group.communicator.known()) return group.communicator;
      const int32_t cluster = outcome.cluster[static_cast<size_t>(member)];
      const auto [at, fresh] = inferred.emplace(cluster, CommunicatorId());
      if (fresh) at->second = infer(group, outcome, cluster);
      return at->second;
    };
    const std::vector<MatchOutcome::Part>& parts = outcome.parts;
    for (size_t low = 0, high = 0; low < parts.size(); low = high) {
      while (high < parts.size() && parts[high].instance == parts[low].instance) ++high;
      add_instance(group, communicator_of(parts[low].member), outcome.method[static_cast<size_t>(parts[low].instance)],
                   &parts[low], &parts[low] + (high - low));
    }
    for (const MatchOutcome::Left& left : outcome.left) {
      const auto m = static_cast<size_t>(left.member);
      table.unmatched.push_back(
          {{group.members[m], group.rows[m][static_cast<size_t>(left.call)]}, reason_of(left.reason)});
    }
  }

  InstanceTable finish() {
    std::sort(drafts.begin(), drafts.end(), [](const Draft& a, const Draft& b) {
      return std::tie(a.instance.session, a.instance.communicator, a.time_ns, a.parts) <
             std::tie(b.instance.session, b.instance.communicator, b.time_ns, b.parts);
    });
    for (Draft& draft : drafts) {
      CollectiveInstance& i = draft.instance;
      const CollectiveInstance* before = table.instances.empty() ? nullptr : &table.instances.back();
      const bool same = before != nullptr && before->communicator == i.communicator && before->session == i.session;
      i.ordinal = same ? before->ordinal + 1 : 0;
      i.first_member = static_cast<uint32_t>(table.members.size());
      table.members.insert(table.members.end(), draft.parts.begin(), draft.parts.end());
      table.instances.push_back(i);
    }
    std::sort(table.unmatched.begin(), table.unmatched.end(),
              [](const UnmatchedCall& a, const UnmatchedCall& b) { return a.call < b.call; });
    return std::move(table);
  }
};

std::vector<MatchOutcome> match_alone(const std::vector<CallGroup>& groups) {
  std::vector<MatchOutcome> outcomes(groups.size());
  tbb::parallel_for(size_t{0}, groups.size(),
                    [&](size_t g) { outcomes[g] = match_members(groups[g].calls, groups[g].membership(), {}); });
  return outcomes;
}

// Once more, with `prior` of each group that did not settle alone.
template <class Prior>
void match_with(const std::vector<CallGroup>& groups, const Prior& prior, std::vector<MatchOutcome>& outcomes) {
  tbb::parallel_for(size_t{0}, groups.size(), [&](size_t g) {
    if (settled(outcomes[g])) return;
    const std::vector<std::optional<int64_t>> prior_ns = prior(groups[g]);
    const bool told = std::any_of(prior_ns.begin(), prior_ns.end(), [](const auto& p) { return p.has_value(); });
    if (told) outcomes[g] = match_members(groups[g].calls, groups[g].membership(), prior_ns);
  });
}

InstanceTable number_instances(const JobTrace& job, const std::vector<CallGroup>& groups,
                               const std::vector<MatchOutcome>& outcomes, InstanceTable table) {
  const CoarseOffsets coarse = matching::coarse_offsets(job.traces.size(), groups, outcomes);
  Builder builder{job, coarse, std::move(table), {}};
  for (size_t g = 0; g < groups.size(); ++g) builder.add_group(groups[g], outcomes[g]);
  return builder.finish();
}

}  // namespace

InstanceTable match_collectives(const JobTrace& job) {
  InstanceTable table;
  table.communicators = job.communicators;
  const std::vector<CallGroup> groups = matching::group_calls(job, table.unmatched);
  std::vector<MatchOutcome> outcomes = match_alone(groups);
  table.by_coarse_clocks = !std::all_of(outcomes.begin(), outcomes.end(), settled);
  // From here on the clocks of traces that share a matched group are known to a millisecond.
  const CoarseOffsets first = matching::coarse_offsets(job.traces.size(), groups, outcomes);
  match_with(
      groups, [&](const CallGroup& group) { return matching::prior_for(group, first); }, outcomes);
  return number_instances(job, groups, outcomes, std::move(table));
}

InstanceTable match_again(const JobTrace& job, const ClockModel& clocks) {
  InstanceTable table;
  table.communicators = job.communicators;
  const std::vector<CallGroup> groups = matching::group_calls(job, table.unmatched);
  std::vector<MatchOutcome> outcomes = match_alone(groups);
  match_with(
      groups, [&](const CallGroup& group) { return matching::prior_from_clocks(group, clocks); }, outcomes);
  return number_instances(job, groups, outcomes, std::move(table));
}

}  // namespace skewscope
