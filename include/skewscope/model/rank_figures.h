// Data: the tables of one rank as named numbers, which can be compared across ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skewscope {

struct RankFigure {
  std::string table;   // as in `skewscope rank`: "timeline", "kernels", …
  std::string key;     // of the row: name of a kernel, "step 12", "stream 7"; "" where a table has one row
  std::string metric;  // name of the column, with its unit
  int64_t value = 0;
};

using RankFigures = std::vector<RankFigure>;  // (table, key, metric) is there once

}  // namespace skewscope
