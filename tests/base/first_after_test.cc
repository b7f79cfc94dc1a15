#include "skewscope/base/first_after.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <random>

using namespace skewscope;

TEST_CASE("the first value behind another one is found from wherever it is looked for") {
  std::mt19937 random(4);
  for (const size_t size : {0U, 1U, 2U, 3U, 10U, 33U}) {
    std::vector<int64_t> sorted;
    for (size_t i = 0; i < size; ++i) sorted.push_back(static_cast<int64_t>(random() % 40));
    std::sort(sorted.begin(), sorted.end());
    for (int64_t value = -1; value <= 41; ++value) {
      const auto expected = static_cast<size_t>(std::upper_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
      for (size_t near = 0; near < size + 3; ++near) {
        CAPTURE(size, value, near);
        CHECK(first_after(sorted, value, near) == expected);
      }
    }
  }
}
