// Looking something up in sorted values, close to where the last one was found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace skewscope {

// Index of the first of `sorted` that is greater than `value`, which is when `less(value, it)`; sorted.size(): none.
// `near`, any index: where to look first. Galloping search (Bentley & Yao 1976): O(log of the distance from `near`).
template <class Item, class Value, class Less = std::less<>>
size_t first_after(const std::vector<Item>& sorted, const Value& value, size_t near, Less less = {}) {
  size_t low = 0, high = std::min(near, sorted.size());  // it lies in [low, high], once `high` is known to be behind it
  if (high < sorted.size() && !less(value, sorted[high])) {
    low = high;
    high = sorted.size();
    for (size_t step = 1; low + step < high; step *= 2) {
      if (less(value, sorted[low + step])) {
        high = low + step;
        break;
      }
      low += step;
    }
  } else {
    for (size_t step = 1; step <= high; step *= 2) {
      if (!less(value, sorted[high - step])) {
        low = high - step;
        break;
      }
      high -= step;
    }
  }
  const auto begin = sorted.begin();
  return static_cast<size_t>(
      std::upper_bound(begin + static_cast<ptrdiff_t>(low), begin + static_cast<ptrdiff_t>(high), value, less) - begin);
}

}  // namespace skewscope
