// Groups of two tracers, put together by hand: which are one.
#include <catch2/catch.hpp>

#include "src/ingest/ranks/same_groups.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr uint32_t kReduces = 2, kGathers = 4;

// Lists all members, as Kineto does; its traces are those of `callers`.
TracerGroup listed(const std::set<int64_t>& members, const std::set<int64_t>& callers, GroupUse use) {
  return {"kineto json", members, static_cast<int64_t>(members.size()), callers, {}, use};
}

// Knows its size, and as members those whose traces name it.
TracerGroup observed(int64_t size, const std::set<int64_t>& callers, GroupUse use) {
  return {"nsys", callers, size, callers, {}, use};
}

using FirstRows = std::vector<size_t>;

}  // namespace

TEST_CASE("a group that one tracer lists is the one of that size whose callers another saw among its members") {
  CHECK(same_groups({listed({0, 1, 2, 3}, {0, 1}, {kReduces, 8, 100}), observed(4, {2, 3}, {kReduces, 8, 100}),
                     observed(2, {2, 3}, {kReduces, 8, 100})}) == FirstRows{0, 0, 2});
}

TEST_CASE("pairs of ranks on two nodes are put together by the list alone, for all of them are used alike") {
  const GroupUse use{kReduces, 8, 100};
  CHECK(same_groups({listed({0, 2}, {0}, use), listed({1, 3}, {1}, use), observed(2, {2}, use),
                     observed(2, {3}, use)}) == FirstRows{0, 1, 0, 1});
}

TEST_CASE("groups of the same members are told by what their calls do") {
  CHECK(same_groups({listed({0, 1, 2, 3}, {0, 1}, {kReduces, 4, 4}), listed({0, 1, 2, 3}, {0, 1}, {kGathers, 90, 1000}),
                     observed(4, {2, 3}, {kGathers, 30, 1010}), observed(4, {2, 3}, {kReduces, 2, 4})}) ==
        FirstRows{0, 1, 1, 0});
}

TEST_CASE("groups of the same members and use stay apart") {
  const GroupUse use{kReduces, 8, 100};
  CHECK(same_groups({listed({0, 1}, {0}, use), listed({0, 1}, {0}, use), observed(2, {1}, use)}) == FirstRows{0, 1, 2});
}

TEST_CASE("pairs of which no tracer lists the other half stay apart") {
  const GroupUse use{kReduces, 8, 100};
  std::vector<TracerGroup> groups = {observed(2, {0}, use), observed(2, {1}, use), observed(2, {2}, use),
                                     observed(2, {3}, use)};
  groups[0].tracer = groups[1].tracer = "another";
  CHECK(same_groups(groups) == FirstRows{0, 1, 2, 3});
}

TEST_CASE("halves that no tracer lists are one group where together they have its size and no other fits") {
  std::vector<TracerGroup> groups = {observed(4, {0, 1}, {kReduces, 8, 100}), observed(4, {2, 3}, {kReduces, 8, 100})};
  groups[0].tracer = "another";
  CHECK(same_groups(groups) == FirstRows{0, 0});
  groups[1].size = groups[0].size = 3;
  CHECK(same_groups(groups) == FirstRows{0, 1});
}

TEST_CASE("two groups that one rank calls are two") {
  const GroupUse use{kReduces, 8, 100};
  CHECK(same_groups({listed({0, 1}, {0, 1}, use), observed(2, {1}, use)}) == FirstRows{0, 1});
}

TEST_CASE("groups without an operation in common are two") {
  CHECK(same_groups({listed({0, 1}, {0}, {kReduces, 8, 100}), observed(2, {1}, {kGathers, 8, 100})}) ==
        FirstRows{0, 1});
}

TEST_CASE("a rank's place in its group, where a trace says it, must be that in the list") {
  const GroupUse use{kReduces, 8, 100};
  TracerGroup fits = observed(3, {2}, use), contradicts = observed(3, {2}, use);
  fits.position[2] = 1;
  contradicts.position[2] = 2;
  CHECK(same_groups({listed({0, 2, 5}, {0}, use), fits}) == FirstRows{0, 0});
  CHECK(same_groups({listed({0, 2, 5}, {0}, use), contradicts}) == FirstRows{0, 1});
}

TEST_CASE("the other halves of a thousand pairs are found in a moment") {
  const GroupUse use{kReduces, 8, 100};
  std::vector<TracerGroup> groups;
  for (int64_t i = 0; i < 4000; ++i) groups.push_back(listed({i, i + 4000}, {i}, use));
  for (int64_t i = 0; i < 4000; ++i) groups.push_back(observed(2, {i + 4000}, use));
  const std::vector<size_t> first = same_groups(groups);
  for (size_t i = 0; i < 4000; ++i) REQUIRE(first[i + 4000] == i);
}
