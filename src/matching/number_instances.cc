#include "number_instances.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "collectives/match_rules.h"
#include "collectives/synchronization.h"
#include "collectives/traffic.h"
#include "join_messages.h"
#include "skewscope/base/sort_runs.h"

namespace skewscope::matching {
namespace {

// Describes what one group was matched to, from its calls.
class Describer {
 public:
  Describer(const JobTrace& job, const CoarseOffsets& coarse, const CallGroup& group, const MatchOutcome& outcome)
      : job_(job), coarse_(coarse), group_(group), outcome_(outcome) {
    matched_.key = group.key;
  }

  MatchedGroup describe() {
    const std::vector<MatchOutcome::Part>& parts = outcome_.parts;
    for (size_t low = 0, high = 0; low < parts.size(); low = high) {
      while (high < parts.size() && parts[high].instance == parts[low].instance) ++high;
      add_instance({parts.begin() + static_cast<ptrdiff_t>(low), parts.begin() + static_cast<ptrdiff_t>(high)});
    }
    for (const MatchOutcome::Left& left : outcome_.left) {
      const auto m = static_cast<size_t>(left.member);
      matched_.unmatched.push_back(
          {{group_.members[m], group_.rows[m][static_cast<size_t>(left.call)]}, left.reason, StringId()});
    }
    return std::move(matched_);
  }

 private:
  // What follows describes the calls of one instance.
  void take_calls(const std::vector<MatchOutcome::Part>& parts) {
    calls_.clear();
    messages_.clear();
    messages_.reserve(parts.size());
    for (const MatchOutcome::Part& p : parts) {
      const auto member = static_cast<size_t>(p.member), row = static_cast<size_t>(p.call);
      if (group_.key.pair()) messages_.push_back(group_.message(member, row));
      calls_.push_back(group_.key.pair() ? &messages_.back() : group_.calls[member][row]);
    }
  }

  // The communicator that calls without metadata turned out to have: the ranks whose ends agree. Its true size is known
  // only when every rank of the job was looked at.
  CommunicatorId infer(int32_t cluster) {
    const auto [at, fresh] = row_of_cluster_.emplace(cluster, static_cast<int64_t>(matched_.inferred.size()));
    if (!fresh) return CommunicatorId(at->second);
    Communicator c;
    c.name = group_.key.stream >= 0 ? "stream " + std::to_string(group_.key.stream) : "cpu";
    c.description = "unnamed in the trace";
    for (size_t m = 0; m < group_.members.size(); ++m) {
      if (outcome_.cluster[m] == cluster) c.members.push_back(job_[group_.members[m]].rank);
    }
    std::sort(c.members.begin(), c.members.end());
    const auto present = static_cast<int32_t>(std::count_if(
        job_.traces.begin(), job_.traces.end(), [&](const RankTrace& t) { return t.session == group_.key.session; }));
    const auto own = static_cast<int32_t>(c.members.size());
    c.size = std::max(present >= job_.world_size ? own : job_.world_size, group_.least_size);
    matched_.inferred.push_back(std::move(c));
    return CommunicatorId(at->second);
  }

  void add_instance(const std::vector<MatchOutcome::Part>& parts) {  // sorted by member, which is by trace
    CollectiveInstance i;
    const bool known = group_.key.communicator.known();
    i.communicator = known ? group_.key.communicator : infer(outcome_.cluster[static_cast<size_t>(parts[0].member)]);
    const int32_t size =
        known ? job_.communicators[i.communicator].size : matched_.inferred[i.communicator.index()].size;
    i.session = group_.key.session;
    i.expected = group_.key.pair() ? 2 : size;
    i.first_member = static_cast<uint32_t>(matched_.members.size());
    i.member_count = static_cast<uint32_t>(parts.size());
    i.complete = static_cast<int32_t>(i.member_count) == i.expected;
    i.method = outcome_.method[static_cast<size_t>(parts.front().instance)];
    take_calls(parts);
    set_operation(size, i);
    set_special(parts, i);
    for (size_t k = 0; k < parts.size(); ++k) {
      const auto m = static_cast<size_t>(parts[k].member);
      matched_.members.push_back({group_.members[m], group_.rows[m][static_cast<size_t>(parts[k].call)]});
      matched_.spans.push_back({calls_[k]->start, calls_[k]->duration_ns});
    }
    const TraceIndex first = group_.members[static_cast<size_t>(parts.front().member)];
    matched_.time_ns.push_back(calls_.front()->end().ns + coarse_.offset_ns[first.index()]);
    matched_.instances.push_back(i);
  }

  // Operation, type and size, from the members.
  void set_operation(int32_t size, CollectiveInstance& i) const {
    int64_t least = -1;
    for (const CollectiveCall* call : calls_) {
      i.kind = call->kind;
      const bool bare = group_.key.communicator.known() && !call->communicator.known();
      if (bare) continue;  // it tells no more: launched before the recording
      const int64_t bytes = message_bytes(call->kind, call->dtype, call->in_elements, call->out_elements, size);
      i.bytes = std::max(i.bytes, bytes);
      if (bytes > 0) least = least < 0 ? bytes : std::min(least, bytes);
      const bool says_bytes = call->dtype == DType::bytes || call->dtype == DType::uint8;
      if (!group_.in_bytes || !says_bytes || i.dtype == DType::unknown) i.dtype = call->dtype;
      i.seq = call->seq;
      if (call->algorithm != Algorithm::unknown) i.algorithm = call->algorithm;
      if (call->protocol != Protocol::unknown) i.protocol = call->protocol;
    }
    if (group_.key.pair()) set_message(i);
    i.sizes_differ = least >= 0 && least != i.bytes && !sizes_may_differ(i.kind);
  }

  // Both ways where both calls are; else the one message.
  void set_message(CollectiveInstance& i) const {
    const auto both_ways = [](const CollectiveCall* call) { return call->kind == CollectiveKind::send_recv; };
    if (std::all_of(calls_.begin(), calls_.end(), both_ways)) return;
    i.kind = CollectiveKind::send;
    i.bytes = 0;
    for (const CollectiveCall* call : calls_) {
      const int64_t elements = group_.elements(*call);
      i.bytes = std::max(i.bytes, message_bytes(i.kind, call->dtype, elements, elements, 2));
    }
  }

  void set_special(const std::vector<MatchOutcome::Part>& parts, CollectiveInstance& i) const {
    const bool message = i.kind == CollectiveKind::send;
    if (!has_root(i.kind) && !message) return;
    for (size_t k = 0; k < parts.size() && i.special < 0; ++k) {
      const CollectiveCall& call = *calls_[k];
      const Rank own = job_[group_.members[static_cast<size_t>(parts[k].member)]].rank;
      const bool is_it = message ? group_.sends(call) : call.root.known() && call.root == own;
      if (is_it) i.special = static_cast<int32_t>(k);
    }
  }

  const JobTrace& job_;
  const CoarseOffsets& coarse_;
  const CallGroup& group_;
  const MatchOutcome& outcome_;
  MatchedGroup matched_;
  std::map<int32_t, int64_t> row_of_cluster_;
  std::vector<const CollectiveCall*> calls_;  // of the instance that is described
  std::vector<CollectiveCall> messages_;      // of a pair: these
};

// Gives inferred communicators their ids behind the job's; equal ones share one.
void number_inferred(const JobTrace& job, std::vector<MatchedGroup>& groups, CommunicatorTable& table) {
  std::vector<Communicator>& all = table.communicators;
  for (MatchedGroup& group : groups) {
    std::vector<CommunicatorId> ids;
    for (Communicator& c : group.inferred) {
      const auto same = std::find_if(all.begin() + static_cast<ptrdiff_t>(job.communicators.size()), all.end(),
                                     [&](const Communicator& a) { return a.name == c.name && a.members == c.members; });
      ids.emplace_back(same - all.begin());
      if (same == all.end()) all.push_back(std::move(c));
    }
    if (group.key.communicator.known()) continue;
    for (CollectiveInstance& i : group.instances) i.communicator = ids[i.communicator.index()];
  }
}

// Those of the group's members from `first` to `end`, which are rows from `row` on in the table.
void add_links(const MatchedGroup& group, uint32_t first, uint32_t end, uint32_t row, InstanceTable& table) {
  const auto begin = std::lower_bound(group.links.begin(), group.links.end(), BatchLink{first, 0, false});
  for (auto link = begin; link != group.links.end() && link->row < end; ++link) {
    table.links.push_back({link->row - first + row, link->partner - first + row, link->receives});
  }
}

void put_in_order(const std::vector<MatchedGroup>& groups, InstanceTable& table) {
  struct Place {
    const MatchedGroup* group;
    size_t row;
    const CollectiveInstance& instance() const { return group->instances[row]; }
    auto key() const {
      const CollectiveInstance& i = instance();
      return std::make_tuple(i.session, i.communicator, group->time_ns[row], group->members[i.first_member]);
    }
  };
  std::vector<Place> places;
  for (const MatchedGroup& group : groups) {
    for (size_t row = 0; row < group.instances.size(); ++row) places.push_back({&group, row});
  }
  size_t members = 0;
  for (const MatchedGroup& group : groups) members += group.members.size();
  table.members.reserve(members);
  table.spans.reserve(members);
  table.instances.reserve(places.size());
  // A call is in one instance: no two have the same first member.
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.key() < b.key(); });
  for (const Place& place : places) {
    CollectiveInstance i = place.instance();
    const auto first = static_cast<ptrdiff_t>(i.first_member), end = first + static_cast<ptrdiff_t>(i.member_count);
    const CollectiveInstance* before = table.instances.empty() ? nullptr : &table.instances.back();
    const bool same = before != nullptr && before->communicator == i.communicator && before->session == i.session;
    i.ordinal = same ? before->ordinal + 1 : 0;
    i.first_member = static_cast<uint32_t>(table.members.size());
    table.members.insert(table.members.end(), place.group->members.begin() + first, place.group->members.begin() + end);
    table.spans.insert(table.spans.end(), place.group->spans.begin() + first, place.group->spans.begin() + end);
    add_links(*place.group, static_cast<uint32_t>(first), static_cast<uint32_t>(end), i.first_member, table);
    table.instances.push_back(i);
  }
}

// All unmatched calls, once, with their kernels, which only the processes of their traces know.
void list_unmatched(const JobTrace& job, std::vector<UnmatchedCall> ungrouped, const std::vector<MatchedGroup>& groups,
                    Exchange& exchange, InstanceTable& table) {
  table.unmatched = std::move(ungrouped);
  for (const MatchedGroup& group : groups) {
    table.unmatched.insert(table.unmatched.end(), group.unmatched.begin(), group.unmatched.end());
  }
  sort_runs(table.unmatched, [](const UnmatchedCall& a, const UnmatchedCall& b) {
    const bool first = a.reason != UnmatchedReason::chained, second = b.reason != UnmatchedReason::chained;
    return std::tie(a.call, first, a.reason) < std::tie(b.call, second, b.reason);
  });
  const auto same = [](const UnmatchedCall& a, const UnmatchedCall& b) { return a.call == b.call; };
  table.unmatched.erase(std::unique(table.unmatched.begin(), table.unmatched.end(), same), table.unmatched.end());
  for (UnmatchedCall& unmatched : table.unmatched) {
    if (!job.holds(unmatched.call.trace)) continue;
    const RankTrace& trace = job[unmatched.call.trace];
    const int32_t row = trace.calls[static_cast<size_t>(unmatched.call.call)].gpu_row;
    if (row >= 0) unmatched.kernel = trace.gpu.name[static_cast<size_t>(row)];
  }
  share(
      exchange, [&](size_t u) { return job[table.unmatched[u].call.trace].process; }, table.unmatched);
}

}  // namespace

InstanceTable number_instances(const JobTrace& job, GroupedCalls calls, const std::vector<MatchOutcome>& outcomes,
                               Exchange& exchange) {
  const CoarseOffsets coarse = coarse_offsets(job.traces.size(), calls.groups, outcomes, exchange);
  std::vector<MatchedGroup> own(calls.groups.size());
  tbb::parallel_for(size_t{0}, own.size(), [&](size_t g) {
    const CallGroup group = std::move(calls.groups[g]);  // its memory is free when it is described
    own[g] = Describer(job, coarse, group, outcomes[g]).describe();
  });
  std::vector<MatchedGroup> groups = all_groups(std::move(own), exchange);
  calls.unmatched = all_rows(exchange, std::move(calls.unmatched));
  join_messages(job, groups, calls.unmatched);
  InstanceTable table;
  table.communicators = job.communicators;
  number_inferred(job, groups, table.communicators);
  put_in_order(groups, table);
  list_unmatched(job, std::move(calls.unmatched), groups, exchange, table);
  return table;
}

}  // namespace skewscope::matching
