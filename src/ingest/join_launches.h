// Which call put each GPU row on the GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "file_content.h"

namespace skewscope::ingest {

struct JoinedLaunches {
  std::vector<int32_t> launch_of;  // row of content.launches per GPU row; -1: none has its correlation ("orphan")
  int64_t ambiguous = 0;           // rows that started after a second launch of the same correlation had begun
};

// `content.launches` are sorted by (correlation, start).
JoinedLaunches join_launches(const FileContent& content);

}  // namespace skewscope::ingest
