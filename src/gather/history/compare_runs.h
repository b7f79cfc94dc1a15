// What the runs of a series say beside one another, other than by the time of a step: libraries that changed, and the
// group whose communication costs most.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history.h"

namespace skewscope::gather {

// "NCCL 2.27.5 → 2.28.9": what both runs name, in other versions.
std::vector<std::string> software_changes(const Run& older, const Run& newer);

// A kind of group in the newest runs of a series, kRecentJobs of them.
struct GroupRecord {
  std::string group;
  int recent = 0, costliest = 0;  // runs; of these, in which no other group cost as much
  std::string since_job;          // from this run on in half of them or more
  double share = 0;               // of GPU time, in the newest of these runs
};
// The one that was it most often; nullopt: none was it in two runs. `runs`: the newest first.
std::optional<GroupRecord> costliest_group(const std::vector<Run>& runs);
// "Group dp cost most in 6 of the last 8 runs, since pretrain-0006: 12.0 % of GPU time in the newest of them."
std::string sentence_of(const GroupRecord& record);

}  // namespace skewscope::gather
