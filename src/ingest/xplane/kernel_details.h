// How a kernel ran, as a profile writes it: "regs:96 static_shared:21568 dynamic_shared:82240 grid:2,1,1
// block:288,1,1".
#pragma once

#include <string_view>

#include "skewscope/model/rank_detail.h"

namespace skewscope::ingest {

KernelShape read_kernel_details(std::string_view text);

}  // namespace skewscope::ingest
