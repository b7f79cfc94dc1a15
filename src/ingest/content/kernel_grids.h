// Kernels of a file by name and by how they were launched, counted as its rows are put together.
#pragma once

#include <vector>

#include "launched_rows.h"
#include "skewscope/base/string_table.h"

namespace skewscope::ingest {

class KernelGrids {
 public:
  // A computing kernel.
  void add(const GpuRow& row);
  // To the time of kernels that were added, of a name, less where `ns` < 0: on the grid that has most of it.
  void add_time(StringId name, int64_t ns);
  // Those that a trace keeps, by number.
  std::vector<KernelGrid> sums(const StringTable& strings) const;

 private:
  struct Sum {
    StringId name;
    uint16_t grid = 0;
    int64_t rows = 0, ns = 0;
  };
  int32_t row_of(StringId name, uint16_t grid);
  size_t slot_of(StringId name, uint16_t grid) const;
  void grow();

  std::vector<Sum> sums_;
  std::vector<int32_t> slots_;         // open addressing; -1: free
  std::vector<int32_t> last_of_name_;  // row of sums_ by id: mostly the next one's, too; -1: none
};

}  // namespace skewscope::ingest
