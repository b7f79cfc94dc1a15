// Which kernels are one call: what one operation launches on one stream of a GPU, however many kernels the library
// makes of it. The record of the operation tells the size of all together.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "skewscope/model/rank_trace.h"

namespace skewscope::ingest {

class CallsOfRecords {
 public:
  explicit CallsOfRecords(size_t records) : first_call_(records, -1) {}

  // Lengthens the call that `kernel`, launched in `record`, continues. False: it begins one, the next row of `calls`.
  // `devices`: row = GPU row.
  bool join(int32_t record, const CollectiveCall& kernel, const Column<int32_t>& devices,
            Column<CollectiveCall>& calls);

 private:
  std::vector<int32_t> first_call_;                                       // by record; -1: none yet
  std::map<std::tuple<int32_t, int32_t, int32_t>, int32_t> other_calls_;  // by record, device, stream
};

}  // namespace skewscope::ingest
