// Data: a job that was found among the files that a user gave, whether or not it is the one that is reported.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skewscope {

struct FoundJob {
  std::string name;                // unique among the jobs found together; what --job takes
  std::string first_file;          // the first of its files by name, from the folder of all jobs'
  int64_t files = 0;               // traces of its ranks
  std::vector<int32_t> ranks;      // sorted
  int32_t world_size = 0;          // 0: nothing tells
  std::vector<std::string> hosts;  // sorted; those that traces name
  int64_t start_ns = 0;            // Unix time of its first event, by the clock of its rank
  int64_t duration_ns = 0;         // from there to its last event
  bool reported = false;
};

}  // namespace skewscope
