#include "skewscope/base/disjoint_sets.h"

#include <catch2/catch.hpp>

using namespace skewscope;

TEST_CASE("a set is named by its smallest element, in whatever order pairs come") {
  DisjointSets forwards(6), backwards(6);
  const std::pair<size_t, size_t> pairs[] = {{4, 5}, {1, 4}, {2, 5}};
  for (const auto& [a, b] : pairs) forwards.unite(a, b);
  for (size_t i = 3; i-- > 0;) backwards.unite(pairs[i].second, pairs[i].first);
  for (size_t i = 0; i < 6; ++i) {
    REQUIRE(forwards.root(i) == backwards.root(i));
    REQUIRE(forwards.root(i) == (i == 0 || i == 3 ? i : 1));
  }
}

TEST_CASE("uniting what is together already says so") {
  DisjointSets sets(3);
  REQUIRE(sets.unite(0, 1));
  REQUIRE(sets.unite(2, 1));
  REQUIRE_FALSE(sets.unite(0, 2));
}
