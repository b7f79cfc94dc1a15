// A stable sort for what consists of runs that are in order: rows of streams, written as time goes by.
//
// Idea: find the runs that are in order and merge neighbours, over that part only where they overlap. Cost: one pass
// and the overlaps, n log(runs) at most; with many short runs std::stable_sort is as good.
#pragma once

#include <algorithm>
#include <vector>

namespace skewscope {

template <class Row, class Less>
void merge_runs(Row* begin, Row* middle, Row* end, Less less) {
  begin = std::upper_bound(begin, middle, *middle, less);
  if (begin == middle) return;
  end = std::lower_bound(middle, end, *(middle - 1), less);
  std::inplace_merge(begin, middle, end, less);
}

template <class Row, class Less>
void sort_runs(std::vector<Row>& rows, Less less) {
  constexpr size_t kShortRun = 16;
  std::vector<size_t> bounds = {0};
  for (size_t i = 1; i < rows.size(); ++i) {
    if (less(rows[i], rows[i - 1])) bounds.push_back(i);
  }
  if (bounds.size() * kShortRun > rows.size()) {
    std::stable_sort(rows.begin(), rows.end(), less);
    return;
  }
  bounds.push_back(rows.size());
  while (bounds.size() > 2) {
    std::vector<size_t> merged;
    for (size_t i = 0; i < bounds.size(); i += 2) {
      merged.push_back(bounds[i]);
      if (i + 2 < bounds.size()) {
        merge_runs(rows.data() + bounds[i], rows.data() + bounds[i + 1], rows.data() + bounds[i + 2], less);
      } else if (i + 2 == bounds.size()) {
        merged.push_back(bounds[i + 1]);
      }
    }
    bounds = std::move(merged);
  }
}

}  // namespace skewscope
