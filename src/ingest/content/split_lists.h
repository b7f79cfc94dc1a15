// The split sizes of all-to-alls: what each call sends to every member of its group and receives from it. Tracers write
// them in rows of the tensor, with the elements of the whole next to them, and cut lists of more than 30.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/base/ids.h"
#include "skewscope/base/string_table.h"
#include "skewscope/model/rank_trace.h"

namespace skewscope::ingest {

// "In split size" and "Out split size" as written; none where a list is absent or "[]".
struct SplitLists {
  int32_t args = -1;  // row of comm_args
  StringId in, out;
};

// The lists of a call whose arguments are these rows of comm_args (-1: none): for each direction the first that tells.
// `all`: by args.
SplitLists lists_of(const std::vector<SplitLists>& all, int32_t own_args, int32_t op_args);

// The parts of `call`, of a group of `group_size` members (-1: not recorded), in elements. One part of unknown sizes
// where the lists are cut; none where they say nothing.
std::vector<SplitPart> split_parts(const SplitLists& lists, const StringTable& strings, int64_t group_size,
                                   const CollectiveCall& call);

}  // namespace skewscope::ingest
