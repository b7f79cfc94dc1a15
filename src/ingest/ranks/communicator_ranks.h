// Ranks of processes of which only the ranks inside their communicators are told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

struct CommunicatorRanks {
  std::vector<int64_t> of_file;  // -1: the file does not tell its ranks inside communicators
  std::string source;
  int32_t processes = 0;  // that were numbered; 0: a communicator holds all
};

CommunicatorRanks ranks_by_communicators(const std::vector<RankEvidence>& files, Findings& findings);

// Per file the number of those that its communicators join, directly or by others; -1: it tells none.
std::vector<int32_t> joined_by_communicators(const std::vector<const RankEvidence*>& files);

}  // namespace skewscope::ingest
