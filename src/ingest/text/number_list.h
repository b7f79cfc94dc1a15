// Lists of numbers as text: as tracers write them, and as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace skewscope::ingest {

// "[0, 1, 2, ...]" as written: ranks of a group, parts of an all-to-all.
struct NumberList {
  std::vector<int64_t> numbers;  // in the order written
  bool cut = false;              // ends in "...": the writer shows 30
};
NumberList parse_number_list(const std::string& text);

// "2-5, 7": sorted numbers as ranges, the rest counted after `most` ranges.
std::string as_ranges(const std::vector<int32_t>& numbers, size_t most = 8);

}  // namespace skewscope::ingest
