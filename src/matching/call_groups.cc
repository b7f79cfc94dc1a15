#include "call_groups.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "collectives/match_rules.h"
#include "collectives/synchronization.h"
#include "own_calls.h"

namespace skewscope::matching {
namespace {

// How many members the call's group has, by what goes into the call and comes out; 0: that does not tell.
int32_t members_by_size(const CollectiveCall& call) {
  const bool gathers = call.kind == CollectiveKind::all_gather, scatters = call.kind == CollectiveKind::reduce_scatter;
  const int64_t part = gathers ? call.in_elements : call.out_elements;
  const int64_t whole = gathers ? call.out_elements : call.in_elements;
  if ((!gathers && !scatters) || part <= 0 || whole <= part || whole % part != 0) return 0;
  return static_cast<int32_t>(std::min<int64_t>(whole / part, INT32_MAX));
}

// -1: absent.
int64_t bytes_of(DType type, int64_t elements) {
  const int64_t each = element_bytes(type);
  return elements < 0 || each <= 0 || elements > INT64_MAX / each ? -1 : elements * each;
}

// The process that owns each group; the same map in all.
std::map<GroupKey, size_t> owners_of(const std::map<GroupKey, RowsByTrace>& own, Exchange& exchange) {
  struct Size {
    GroupKey key;
    size_t calls = 0;
  };
  std::vector<Size> sizes;
  for (const auto& [key, by_trace] : own) {
    sizes.push_back({key, 0});
    for (const auto& [trace, rows] : by_trace) sizes.back().calls += rows.size();
  }
  std::map<GroupKey, size_t> total;
  for (const Size& size : all_rows(exchange, std::move(sizes))) total[size.key] += size.calls;
  sizes.clear();
  for (const auto& [key, calls] : total) sizes.push_back({key, calls});
  std::stable_sort(sizes.begin(), sizes.end(), [](const Size& a, const Size& b) { return a.calls > b.calls; });
  std::vector<size_t> load(static_cast<size_t>(exchange.processes()), 0);
  std::map<GroupKey, size_t> owners;
  for (const Size& size : sizes) {
    const auto least = static_cast<size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    load[least] += size.calls;
    owners.emplace(size.key, least);
  }
  return owners;
}

// One trace's calls of one group.
struct Part {
  GroupKey key;
  TraceIndex trace;
  std::vector<int32_t> rows;
  std::vector<const CollectiveCall*> calls;
  std::vector<const BatchMessage*> messages;  // of a pair, as in CallGroup
};

void put(ByteWriter& writer, const Part& part) {
  writer.put(part.key);
  writer.put(part.trace);
  writer.put(part.rows);
  std::vector<CollectiveCall> calls;
  for (const CollectiveCall* call : part.calls) calls.push_back(*call);
  writer.put(calls);
  std::vector<BatchMessage> messages;
  for (const BatchMessage* message : part.messages) messages.push_back(message == nullptr ? BatchMessage{} : *message);
  writer.put(messages);
}

Part get_part(ByteReader& reader, GroupedCalls& grouped) {
  Part part;
  reader.get(part.key);
  reader.get(part.trace);
  reader.get(part.rows);
  reader.get(grouped.received.emplace_back());
  for (const CollectiveCall& call : grouped.received.back()) part.calls.push_back(&call);
  reader.get(grouped.received_messages.emplace_back());
  for (const BatchMessage& message : grouped.received_messages.back()) {
    part.messages.push_back(message.call < 0 ? nullptr : &message);
  }
  return part;
}

bool before_peer(const BatchMessage& message, const std::tuple<Rank, bool>& peer) {
  return std::tuple(message.peer, message.sends) < peer;
}

// The message of a batch that is in the pair's group `key`; nullptr: call number `row` is no batch.
const BatchMessage* message_in(const GroupKey& key, const RankTrace& trace, int32_t row) {
  if (trace.calls[static_cast<size_t>(row)].kind != CollectiveKind::coalesced) return nullptr;
  const bool sends = key.from == trace.rank.value;
  const Rank peer(sends ? key.to : key.from);
  const auto messages = messages_of(trace, row);
  return &*std::lower_bound(messages.begin(), messages.end(), std::tuple(peer, sends), before_peer);
}

// The parts of the groups that this process owns, from all processes. Takes the rows out of `own`.
std::vector<Part> collect_parts(const JobTrace& job, std::map<GroupKey, RowsByTrace>& own, Exchange& exchange,
                                GroupedCalls& grouped) {
  const std::map<GroupKey, size_t> owners = owners_of(own, exchange);
  std::vector<Part> parts;
  std::vector<ByteWriter> writers(static_cast<size_t>(exchange.processes()));
  for (auto& [key, by_trace] : own) {
    const size_t owner = owners.at(key);
    for (auto& [trace, rows] : by_trace) {
      Part part{key, trace, std::move(rows), {}, {}};
      part.calls.reserve(part.rows.size());
      if (key.pair()) part.messages.reserve(part.rows.size());
      for (const int32_t row : part.rows) {
        part.calls.push_back(&job[trace].calls[static_cast<size_t>(row)]);
        if (key.pair()) part.messages.push_back(message_in(key, job[trace], row));
      }
      if (owner == static_cast<size_t>(exchange.process())) {
        parts.push_back(std::move(part));
      } else {
        put(writers[owner], part);
      }
    }
  }
  std::vector<Bytes> letters;
  for (ByteWriter& writer : writers) letters.push_back(writer.take());
  for (const Bytes& bytes : exchange.all_to_all(std::move(letters))) {
    for (ByteReader reader(bytes); !reader.done();) parts.push_back(get_part(reader, grouped));
  }
  return parts;
}

// Whether the traces themselves tell how many ranks there are, and all of them were recorded.
bool all_ranks_recorded(const JobTrace& job, SessionId session) {
  if (job.world_size_source == WorldSizeSource::file_count) return false;
  std::set<int32_t> ranks;
  for (const RankTrace& trace : job.traces) {
    if (trace.session == session && trace.rank.known()) ranks.insert(trace.rank.value);
  }
  return static_cast<int32_t>(ranks.size()) >= job.world_size;
}

// Per trace: the first of the same session and host name; -1: it names none.
std::vector<int32_t> hosts_of(const JobTrace& job) {
  std::map<std::pair<SessionId, std::string>, int32_t> first;
  std::vector<int32_t> hosts;
  for (size_t t = 0; t < job.traces.size(); ++t) {
    const RankTrace& trace = job.traces[t];
    const auto own = static_cast<int32_t>(t);
    hosts.push_back(trace.host.empty() ? -1 : first.emplace(std::pair(trace.session, trace.host), own).first->second);
  }
  return hosts;
}

// A trace's calls of one communicator, or of one group that is to be inferred.
struct Recorded {
  GroupKey key;
  TraceIndex trace;
  bool custom = false;  // all of them
};

std::vector<Recorded> recorded_by_all(const JobTrace& job, const OwnCalls& own, Exchange& exchange) {
  std::vector<Recorded> recorded;
  for (const auto& [key, by_trace] : own.groups) {
    for (const auto& [trace, rows] : by_trace) {
      const Column<CollectiveCall>& calls = job[trace].calls;
      recorded.push_back({key, trace, std::all_of(rows.begin(), rows.end(), [&](int32_t row) {
                            return calls[static_cast<size_t>(row)].custom;
                          })});
    }
  }
  return all_rows(exchange, std::move(recorded));
}

// The size of the largest communicator whose calls some members named, who are not in the pool, and the others did not,
// who are: the pool's calls may be theirs. 0: there is none.
int32_t size_of_half_named(const JobTrace& job, const CallGroup& pool, const std::vector<Recorded>& recorded) {
  std::set<TraceIndex> in_pool;
  for (const Recorded& r : recorded) {
    if (r.key == pool.key && !r.custom) in_pool.insert(r.trace);
  }
  std::map<CommunicatorId, std::set<TraceIndex>> naming;
  for (const Recorded& r : recorded) {
    if (r.key.communicator.known() && r.key.session == pool.key.session) naming[r.key.communicator].insert(r.trace);
  }
  int32_t size = 0;
  for (const auto& [id, traces] : naming) {
    const Communicator& communicator = job.communicators[id];
    const auto pooled = [&](TraceIndex t) { return in_pool.count(t) > 0; };
    const auto member = [&](TraceIndex t) {
      return std::binary_search(communicator.members.begin(), communicator.members.end(), job[t].rank);
    };
    if (std::none_of(traces.begin(), traces.end(), pooled) && std::any_of(in_pool.begin(), in_pool.end(), member)) {
      size = std::max(size, communicator.size);
    }
  }
  return size;
}

std::vector<CallGroup> groups_of(const JobTrace& job, std::vector<Part> parts) {
  const std::vector<int32_t> hosts = hosts_of(job);
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return std::tie(a.key, a.trace) < std::tie(b.key, b.trace); });
  std::vector<CallGroup> groups;
  for (Part& part : parts) {
    if (groups.empty() || groups.back().key != part.key)
      groups.push_back({part.key, {}, {}, {}, {}, {}, {}, Membership::known, 0});
    groups.back().members.push_back(part.trace);
    groups.back().host.push_back(hosts[part.trace.index()]);
    groups.back().durations_only.push_back(job[part.trace].durations_only);
    groups.back().rows.push_back(std::move(part.rows));
    groups.back().calls.push_back(std::move(part.calls));
    groups.back().messages.push_back(std::move(part.messages));
  }
  return groups;
}

}  // namespace

uint64_t signature_of(const CollectiveCall& call, bool in_bytes) {
  const int64_t root = call.root.known() ? call.root.value : -1;
  if (!in_bytes) return match_signature(call.kind, call.dtype, call.in_elements, call.out_elements, root);
  return match_signature(call.kind, DType::bytes, bytes_of(call.dtype, call.in_elements),
                         bytes_of(call.dtype, call.out_elements), root);
}

CollectiveCall CallGroup::message(size_t member, size_t row) const {
  CollectiveCall call = *calls[member][row];
  if (const BatchMessage* of_batch = messages[member][row]; of_batch != nullptr) {
    call.kind = of_batch->sends ? CollectiveKind::send : CollectiveKind::recv;
    call.peer = of_batch->peer;
    call.dtype = of_batch->dtype;
    call.in_elements = call.out_elements = of_batch->elements;
  }
  return call;
}

bool CallGroup::sends(const CollectiveCall& call) const {
  return call.kind == CollectiveKind::send_recv ? call.peer.value == key.to : call.kind == CollectiveKind::send;
}

int64_t CallGroup::elements(const CollectiveCall& call) const {
  if (call.kind != CollectiveKind::send_recv) return std::max(call.in_elements, call.out_elements);
  return sends(call) ? call.in_elements : call.out_elements;
}

std::vector<MemberCalls> CallGroup::matcher_view() const {
  std::vector<MemberCalls> view;
  // Each tracer counts calls by itself. Logs without times have nothing but their numbers.
  const bool numbers_compare =
      !in_bytes || std::any_of(durations_only.begin(), durations_only.end(), [](bool only) { return only; });
  for (size_t k = 0; k < calls.size(); ++k) {
    MemberCalls& member = view.emplace_back();
    for (size_t i = 0; i < calls[k].size(); ++i) {
      const CollectiveCall& call = *calls[k][i];
      MatchCall m;
      m.start_ns = call.start.ns;
      m.end_ns = call.end().ns;
      m.step = call.step;
      m.bare = key.communicator.known() && !call.communicator.known();
      m.ends_together = ends_together(call.kind) && !durations_only[k];
      if (key.pair()) {  // "Seq" counts per rank, not per pair: partners' numbers differ
        const CollectiveCall one = message(k, i);
        m.of_batch = messages[k][i] != nullptr;
        m.ends_together = ends_together(one.kind);
        m.kind = sends(one) ? CollectiveKind::send : CollectiveKind::recv;
        const DType type = in_bytes ? DType::bytes : one.dtype;
        const int64_t size = in_bytes ? bytes_of(one.dtype, elements(one)) : elements(one);
        m.signature = match_signature(CollectiveKind::send, type, size, size, -1);
      } else {
        m.kind = call.kind;
        m.signature = signature_of(call, in_bytes);
        m.group_size = members_by_size(call);
        if (numbers_compare) m.seq = call.seq;
        if (numbers_compare) m.comms_id = call.comms_id;
      }
      member.push_back(m);
    }
  }
  return view;
}

GroupedCalls group_calls(const JobTrace& job, Exchange& exchange) {
  OwnCalls own = sort_own_calls(job);
  const std::vector<Recorded> recorded = recorded_by_all(job, own, exchange);
  GroupedCalls grouped;
  grouped.groups = groups_of(job, collect_parts(job, own.groups, exchange, grouped));
  grouped.unmatched = std::move(own.unmatched);
  std::map<SessionId, std::set<GroupKey>> keys;
  for (const Recorded& one : recorded) keys[one.key.session].insert(one.key);
  for (CallGroup& group : grouped.groups) {
    if (group.key.communicator.known()) {
      group.in_bytes = job.communicators[group.key.communicator].several_tracers;
      continue;
    }
    group.least_size = size_of_half_named(job, group, recorded);
    group.alone = keys[group.key.session].size() == (group.least_size > 0 ? 2 : 1);  // the pool, and who names it
    const bool all = group.least_size == 0 && all_ranks_recorded(job, group.key.session);
    group.membership = all ? Membership::inferred_of_all_ranks : Membership::inferred;
  }
  return grouped;
}

}  // namespace skewscope::matching
