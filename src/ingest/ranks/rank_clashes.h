// Numbers that cannot be the ranks of all files that carry them: two processes at work at one time are two ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// `numbers`: row = row of `evidence`, -1 for none. A row of two captures that overlap in time and have one number; -1:
// there are none.
int64_t first_clash(const std::vector<RankEvidence>& evidence, const std::vector<int64_t>& numbers);

// False where a group that the process is known to be in lacks the number.
bool in_all_groups(const RankEvidence& file, int64_t number);

// Where the folders are the nodes and the names count the processes of one: `places` in each are 0 to n - 1, and all
// folders together have as many files as the world has ranks. Folders count in the order of their names, numbers in
// these by value. Empty: it is not so, or a group contradicts. `places`: row = row of `evidence`, none is -1.
std::vector<int64_t> ranks_by_folder(const std::vector<RankEvidence>& evidence, const std::vector<int64_t>& places,
                                     int64_t world_size);

}  // namespace skewscope::ingest
