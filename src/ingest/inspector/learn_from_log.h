// What a process that has a trace and a log says of its job: calls and groups under both names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// What traces say of the communicators and calls of a job's logs.
struct ToldByTrace {
  struct Group {
    GroupMention mention;
    std::vector<int64_t> members;
  };
  struct Call {
    CollectiveCall call;
    int64_t root_in_group = -1;
  };
  std::map<std::string, Group> groups;       // by the communicator's name
  std::unordered_map<uint64_t, Call> calls;  // by CollectiveCall::comms_id of the log's call
  int64_t world_size = -1;
};

// Finds the trace's calls in the log of the same process. They learn what only the log knows, `told` learns what they
// are called; findings of the log say how much was found.
void learn_from_log(TraceFile& trace, TraceFile& log, ToldByTrace& told);

// Names communicators that no collective names, as those of messages alone: the one group of the traces that has the
// same members, where all of these wrote logs.
void learn_from_members(const std::vector<const TraceFile*>& traces, const std::vector<const TraceFile*>& logs,
                        ToldByTrace& told);

// The rank of the whole job, by a group that is known; -1: none says it.
int64_t rank_of_log(const ToldByTrace& told, const RankEvidence& log);

}  // namespace skewscope::ingest
