// GPU rows by the operation of a compiled program (HLO of XLA) that they are of.
//
// An execution of an operation may launch several kernels: what splits a sum, the matrix product of a convolution after
// its rearrangement. No row says where one execution ends, but each of its kernels runs in each: the one that ran most
// often says how many there were, also where the recording begins or ends in the midst of one.
#pragma once

#include "skewscope/base/string_table.h"
#include "skewscope/model/rank_tables.h"

namespace skewscope::summarize {

// Nothing where no row is of an operation.
void add_hlo_operations(const GpuEvents& gpu, const RankDetail& detail, const StringTable& strings, RankTables& tables);

}  // namespace skewscope::summarize
