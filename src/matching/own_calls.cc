#include "own_calls.h"

#include <tbb/parallel_for_each.h>

#include <tuple>
#include <utility>

#include "skewscope/base/sort_runs.h"

namespace skewscope::matching {
namespace {

// A kernel whose launch precedes the recording has lost its metadata.
bool lost_its_launch(const CollectiveCall& call) {
  return call.stream >= 0 && !call.communicator.known() && !call.custom && !call.launched;
}

// The communicators whose collectives a trace's streams carry; none where a stream carries several, or other things.
using StreamOwners = std::map<int32_t, CommunicatorId>;

StreamOwners stream_owners(const RankTrace& trace) {
  StreamOwners owners;
  for (const CollectiveCall& call : trace.calls) {
    if (lost_its_launch(call)) continue;
    const bool owns = call.communicator.known() && !is_point_to_point(call.kind);
    const CommunicatorId own = owns ? call.communicator : CommunicatorId();
    const auto [known, added] = owners.emplace(call.stream, own);
    if (!added && known->second != own) known->second = CommunicatorId();
  }
  return owners;
}

// Per call: its stream; of several that one launch put on the GPU, a captured graph's, the stream of the first: a graph
// spreads one communicator's kernels over streams of its own.
std::vector<int32_t> streams_of(const RankTrace& trace) {
  std::map<LocalNs, int32_t> of_launch;
  std::vector<int32_t> streams;
  for (const CollectiveCall& call : trace.calls) {
    const bool own = !call.launched || call.stream < 0;
    streams.push_back(own ? call.stream : of_launch.try_emplace(call.launch_start, call.stream).first->second);
  }
  return streams;
}

struct Sorter {
  const JobTrace& job;
  bool job_has_metadata = false;
  OwnCalls own;

  void place_all(TraceIndex t) {
    const StreamOwners owners = job_has_metadata ? stream_owners(job[t]) : StreamOwners();
    const std::vector<int32_t> streams = streams_of(job[t]);
    for (size_t row = 0; row < streams.size(); ++row) place(t, static_cast<int32_t>(row), streams[row], owners);
  }

  void place(TraceIndex t, int32_t row, int32_t stream, const StreamOwners& owners) {
    const RankTrace& trace = job[t];
    const CollectiveCall& call = trace.calls[static_cast<size_t>(row)];
    const auto refuse = [&](UnmatchedReason reason) { own.unmatched.push_back({{t, row}, reason, StringId()}); };
    const bool known = call.kind != CollectiveKind::unknown && !is_point_to_point(call.kind);
    if (!call.waits) return refuse(call.custom ? UnmatchedReason::one_sided : UnmatchedReason::copied);
    if (call.together >= 0) return refuse(UnmatchedReason::own_devices);
    GroupKey key;
    key.session = trace.session;
    key.communicator = call.communicator;
    if (job_has_metadata && lost_its_launch(call)) {
      // What its stream carries afterwards tells its group; it is not inferred where a stream serves several.
      const auto owner = owners.find(call.stream);
      if (!known || owner == owners.end() || !owner->second.known()) return refuse(UnmatchedReason::no_metadata);
      key.communicator = owner->second;
      if (job.communicators[key.communicator].size == 1) return refuse(UnmatchedReason::group_of_one);
    } else if (!call.communicator.known()) {
      if (!known) return refuse(UnmatchedReason::no_metadata);
      key.stream = stream;
      key.signature = call.stream < 0 ? signature_of(call, false) : 0;
    } else if (job.communicators[call.communicator].size == 1) {
      return refuse(UnmatchedReason::group_of_one);
    } else if (is_point_to_point(call.kind)) {
      if (!call.peer.known() || call.peer == trace.rank) return refuse(UnmatchedReason::no_metadata);
      if (trace.durations_only) return refuse(UnmatchedReason::ambiguous);  // who waited would not be known either
      if (call.kind != CollectiveKind::recv) place_message(key, t, row, call.peer, true);
      if (call.kind != CollectiveKind::send) place_message(key, t, row, call.peer, false);
      return;
    } else if (const auto messages = messages_of(trace, row); !messages.empty()) {
      bool any = false;
      for (const BatchMessage& message : messages) {
        if (message.peer == trace.rank) continue;
        any = true;
        if (message.peer.known()) {
          place_message(key, t, row, message.peer, message.sends);
        } else {
          refuse(UnmatchedReason::no_metadata);
        }
      }
      if (!any) refuse(UnmatchedReason::no_metadata);
      return;
    }
    own.groups[key][t].push_back(row);
  }

  void place_message(GroupKey key, TraceIndex t, int32_t row, Rank peer, bool sends) {
    key.from = sends ? job[t].rank.value : peer.value;
    key.to = sends ? peer.value : job[t].rank.value;
    own.groups[key][t].push_back(row);
  }
};

}  // namespace

OwnCalls sort_own_calls(const JobTrace& job) {
  Sorter sorter{job, job.communicators.size() > 0, {}};
  for (size_t i = 0; i < job.traces.size(); ++i) {
    const TraceIndex t(static_cast<int64_t>(i));
    if (!job.holds(t)) continue;
    sorter.place_all(t);
  }
  tbb::parallel_for_each(sorter.own.groups, [&](auto& group) {
    for (auto& [trace, rows] : group.second) {
      const Column<CollectiveCall>& calls = job[trace].calls;
      sort_runs(rows, [&calls](int32_t a, int32_t b) {
        const CollectiveCall &x = calls[static_cast<size_t>(a)], &y = calls[static_cast<size_t>(b)];
        return std::make_tuple(x.end(), x.start, a) < std::make_tuple(y.end(), y.start, b);
      });
    }
  });
  return std::move(sorter.own);
}

}  // namespace skewscope::matching
