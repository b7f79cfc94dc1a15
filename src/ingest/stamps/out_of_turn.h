// Rows whose stamps contradict the order in which things must have happened, however near they lie.
#pragma once

#include <cstdint>
#include <vector>

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

struct OutOfTurn {
  int32_t row = -1;
  int64_t late_ns = 0;  // at least; < 0: early
};

// In order of rows; none where they are not few: then something else is wrong than a stamp. Launches are joined.
std::vector<OutOfTurn> launches_out_of_turn(const FileContent& content);
std::vector<OutOfTurn> gpu_rows_out_of_turn(const FileContent& content);
std::vector<OutOfTurn> steps_out_of_turn(const FileContent& content);

// So many rows of a file a broken clock may have stamped.
size_t few_rows_of(size_t rows);

}  // namespace skewscope::ingest
