// The middle one of numbers, the upper of two.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace skewscope::ingest {

// `numbers`: at least one; their order is lost.
template <class Numbers>
auto median_of(Numbers numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

}  // namespace skewscope::ingest
