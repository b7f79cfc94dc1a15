#include "call_groups.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "collectives/match_rules.h"
#include "collectives/synchronization.h"

namespace skewscope::matching {
namespace {

// (session, communicator, stream of an inferred group, sender, receiver, signature); -1 and 0 where a part does not
// apply. A GPU stream serves one communicator; a CPU backend has no streams, so there calls are told apart by
// signature.
using GroupKey = std::tuple<int32_t, int32_t, int32_t, int32_t, int32_t, uint64_t>;

bool is_pair(CollectiveKind kind) { return kind == CollectiveKind::send || kind == CollectiveKind::recv; }

uint64_t signature_of(const CollectiveCall& call) {
  const int64_t root = call.root.known() ? call.root.value : -1;
  return match_signature(call.kind, call.dtype, call.in_elements, call.out_elements, root);
}

struct Sorter {
  const JobTrace& job;
  bool job_has_metadata = false;
  std::map<GroupKey, std::map<TraceIndex, std::vector<int32_t>>> groups;
  std::vector<UnmatchedCall>& unmatched;

  void place(TraceIndex t, int32_t row) {
    const RankTrace& trace = job[t];
    const CollectiveCall& call = trace.calls[static_cast<size_t>(row)];
    const auto refuse = [&](UnmatchedReason reason) { unmatched.push_back({{t, row}, reason}); };
    const int32_t session = trace.session.value;
    if (!call.communicator.known()) {
      // A kernel whose launch precedes the recording has lost its metadata; in a job that records metadata its group
      // is not inferred, since its stream may serve several communicators.
      const bool lost_head = job_has_metadata && !call.custom && !call.launched;
      if (call.kind == CollectiveKind::unknown || is_pair(call.kind) || lost_head) {
        return refuse(UnmatchedReason::no_metadata);
      }
      const uint64_t signature = call.stream < 0 ? signature_of(call) : 0;
      groups[{session, -1, call.stream, -1, -1, signature}][t].push_back(row);
      return;
    }
    if (job.communicators[call.communicator].size == 1) return refuse(UnmatchedReason::group_of_one);
    if (!is_pair(call.kind)) {
      groups[{session, call.communicator.value, -1, -1, -1, 0}][t].push_back(row);
      return;
    }
    if (!call.peer.known() || call.peer == trace.rank) return refuse(UnmatchedReason::no_metadata);
    const bool sends = call.kind == CollectiveKind::send;
    const int32_t from = sends ? trace.rank.value : call.peer.value;
    const int32_t to = sends ? call.peer.value : trace.rank.value;
    groups[{session, call.communicator.value, -1, from, to, 0}][t].push_back(row);
  }
};

MatchCall matcher_view(const CollectiveCall& call, bool pair) {
  MatchCall m;
  m.start_ns = call.start.ns;
  m.end_ns = call.end().ns;
  m.signature = signature_of(call);
  m.step = call.step;
  m.ends_together = ends_together(call.kind);
  if (!pair) {  // point-to-point numbers count per rank, not per pair: partners' numbers differ
    m.seq = call.seq;
    m.comms_id = call.comms_id;
  }
  return m;
}

}  // namespace

std::vector<CallGroup> group_calls(const JobTrace& job, std::vector<UnmatchedCall>& unmatched) {
  Sorter sorter{job, job.communicators.size() > 0, {}, unmatched};
  for (size_t t = 0; t < job.traces.size(); ++t) {
    for (size_t row = 0; row < job.traces[t].calls.size(); ++row) {
      sorter.place(TraceIndex(static_cast<int64_t>(t)), static_cast<int32_t>(row));
    }
  }
  std::vector<CallGroup> groups;
  for (auto& [key, by_trace] : sorter.groups) {
    const auto& [session, communicator, stream, from, to, signature] = key;
    CallGroup group;
    group.session = SessionId(session);
    group.communicator = CommunicatorId(communicator);
    group.stream = stream;
    group.pair = from >= 0;
    group.expected = communicator < 0 ? 0 : (group.pair ? 2 : job.communicators[group.communicator].size);
    for (auto& [trace, rows] : by_trace) {
      const std::vector<CollectiveCall>& calls = job[trace].calls;
      std::sort(rows.begin(), rows.end(), [&](int32_t a, int32_t b) {
        const CollectiveCall &x = calls[static_cast<size_t>(a)], &y = calls[static_cast<size_t>(b)];
        return std::make_tuple(x.end(), x.start, a) < std::make_tuple(y.end(), y.start, b);
      });
      MemberCalls view;
      for (const int32_t row : rows) view.push_back(matcher_view(calls[static_cast<size_t>(row)], group.pair));
      group.members.push_back(trace);
      group.calls.push_back(std::move(view));
      group.rows.push_back(std::move(rows));
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace skewscope::matching
