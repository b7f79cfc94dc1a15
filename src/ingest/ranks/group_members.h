// Members of process groups, from what traces say of them (KINETO.md, section 7), and the job's communicators.
#pragma once

#include <string>
#include <vector>

#include "skewscope/model/communicator_table.h"
#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// What one trace contributes: its rank, the groups it belongs to by distributedInfo, the groups its calls mention.
struct TraceGroups {
  Rank rank;
  bool synthetic = false;  // the rank is a made-up number: it says nothing about members
  std::string file;
  const std::vector<ProcessGroup>* config = nullptr;
  const std::vector<GroupMention>* mentions = nullptr;
  std::string tracer{};  // TraceFile::format: another tracer may call the same groups otherwise
};

struct ResolvedGroups {
  CommunicatorTable communicators;  // mentioned ones only, sorted by (members, name)
  // [trace][mention] -> communicator; none where the members of several groups cannot be distinguished.
  std::vector<std::vector<CommunicatorId>> of_mention;
  Findings findings;
};

// `traces` of one job, any sessions. Result does not depend on their order but for the outer index. Cut lists are
// continued inside the world only.
ResolvedGroups resolve_groups(const std::vector<TraceGroups>& traces, int32_t world_size);

}  // namespace skewscope::ingest
