// Ranks of files that hold several, where no file says which they are: their order in each file, and the order of the
// files.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// Row = row of `evidence`, numbered through all files in the order of their names. Empty: a row has no place, or it is
// not `open`: something better says its rank, next to which these numbers would mean nothing.
std::vector<int64_t> ranks_by_place(const std::vector<RankEvidence>& evidence,
                                    const std::function<bool(size_t row)>& open);

}  // namespace skewscope::ingest
