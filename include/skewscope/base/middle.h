// Order statistics: the value at a place of the sorted order, without sorting all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace skewscope {

// The value that would be at `place` if `values` were sorted; they are reordered.
template <class Value>
Value take_nth(std::vector<Value>& values, size_t place) {
  const auto at = values.begin() + static_cast<ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// The middle one, the upper one of an even number. `values` is not empty, and is reordered.
template <class Value>
Value take_middle(std::vector<Value>& values) {
  return take_nth(values, values.size() / 2);
}

// The same of a copy.
template <class Value>
Value middle_of(std::vector<Value> values) {
  return take_middle(values);
}

// The mean of the middle two of an even number. `values` is not empty, and is reordered.
inline double take_median(std::vector<double>& values) {
  const double middle = take_middle(values);
  if (values.size() % 2 == 1) return middle;
  return (middle + *std::max_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2))) / 2;
}
inline double median_of(std::vector<double> values) { return take_median(values); }

}  // namespace skewscope
