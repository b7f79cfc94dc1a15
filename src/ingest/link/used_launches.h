// The launches that some GPU row refers to, by start: what a trace keeps of its launches.
#pragma once

#include <cstdint>
#include <vector>

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

class UsedLaunches {
 public:
  // Returns how many GPU rows have no launch.
  int64_t choose(const FileContent& content);
  // Drops the others, orders what is kept and brings GPU rows up to date; durations are 0 or more from here on.
  void keep_in(FileContent& content) const;

 private:
  size_t row_of(size_t used) const { return all_are_used_ ? used : static_cast<size_t>(rows_[used]); }

  bool all_are_used_ = true;
  std::vector<int32_t> rows_;      // of launches, where not all are used
  std::vector<int32_t> by_start_;  // which of those used, where they have to be sorted
};

// By row of launches: whether several GPU rows refer to it, as to that of a graph.
std::vector<bool> launches_of_several(const FileContent& content);

}  // namespace skewscope::ingest
