// DetailRows -> RankDetail: host rows in the order of a call tree, GPU rows joined to the calls that launched them.
#pragma once

#include <cstdint>
#include <vector>

#include "call_metadata.h"
#include "skewscope/model/rank_detail.h"
#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// All but the calls, of joined rows. Takes the details of `content` but for their split sizes.
RankDetail link_details(FileContent& content);

void add_call_details(const CallMetadata& call, const std::vector<SplitSizes>& splits, CallDetails& details);

// What the columns take, without the strings.
int64_t bytes_of(const RankDetail& detail);

}  // namespace skewscope::ingest
