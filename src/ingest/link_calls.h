// FileContent -> RankTrace: launches joined to GPU rows, collectives found and given their metadata. What depends on
// other files (rank, session, communicators, global root and peer) stays open for assemble_job.h.
#pragma once

#include <optional>
#include <utility>

#include "file_content.h"
#include "skewscope/model/rank_trace.h"

namespace skewscope::ingest {

// A process group as calls of one trace mention it; equal mentions once.
struct GroupMention {
  std::string name, description;
  int64_t size = -1;
  std::string ranks;  // "Process Group Ranks" as written
  int64_t rank_start = -1, rank_stride = -1;
};

// Of one call: its group and the ranks that are known inside the group only.
struct OpenCall {
  int32_t group = -1;          // row in LinkedTrace::groups; -1: no group metadata
  int64_t root_in_group = -1;  // rooted kinds
  int64_t peer_in_group = -1;  // send, recv
};

struct LinkedTrace {
  RankTrace trace;  // names are ids of `strings`; rank, session, communicator, root are open
  StringTable strings;
  std::vector<GroupMention> groups;
  std::vector<OpenCall> open_calls;  // row = row of trace.calls
  Findings findings;                 // of the file, the reader's included
};

// `steps`: keep only GPU rows and calls launched in [first, second) of ProfilerStep numbers.
LinkedTrace link_calls(FileContent content, const std::optional<std::pair<int64_t, int64_t>>& steps);

}  // namespace skewscope::ingest
