// DetailRows -> RankDetail: host rows in the order of a call tree, GPU rows joined to the calls that launched them.
#pragma once

#include <cstdint>
#include <vector>

#include "call_metadata.h"
#include "file_content.h"
#include "skewscope/model/rank_detail.h"

namespace skewscope::ingest {

template <class Value>
std::vector<Value> gathered(const std::vector<Value>& column, const std::vector<int32_t>& order) {
  std::vector<Value> result;
  result.reserve(order.size());
  for (const int32_t row : order) result.push_back(column[static_cast<size_t>(row)]);
  return result;
}

// repair_gpu_rows() of a content with details, which stay beside their rows.
void repair_gpu_rows_and_details(FileContent& content);

// All but the calls. `launch_of`: row of content.launches per GPU row, -1 for orphans. Takes the details of `content`
// but for their split sizes.
RankDetail link_details(FileContent& content, const std::vector<int32_t>& launch_of);

void add_call_details(const CallMetadata& call, const std::vector<SplitSizes>& splits, CallDetails& details);

// Of the columns, without the strings.
int64_t bytes_of(const RankDetail& detail);

}  // namespace skewscope::ingest
