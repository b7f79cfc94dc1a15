#include "../../src/summarize/slot_times.h"

#include <catch2/catch.hpp>

using namespace skewscope;             // NOLINT
using namespace skewscope::summarize;  // NOLINT

namespace {

// Row i runs within row i - 1.
CallTree nested(int32_t depth) {
  CallTree tree;
  for (int32_t row = 0; row < depth; ++row) tree.parent.push_back(row - 1);
  return tree;
}

}  // namespace

TEST_CASE("rows of a kind are chained over whatever stands between them") {
  const std::vector<int32_t> next = next_around(nested(6), [](size_t row) { return row == 0 || row == 3; });
  CHECK(next == std::vector<int32_t>{-1, 0, 0, 0, 3, 3});
}

TEST_CASE("a GPU row widens the slots of all rows around its launch, each once") {
  std::vector<int32_t> slot = {0, -1, 1, 0, -1};
  SlotTimes times(nested(5), slot, 2);
  times.add(4, LocalNs{0}, 100);   // within all of them
  times.add(1, LocalNs{50}, 100);  // within row 0 only
  times.add(-1, LocalNs{500}, 1);  // an orphan
  CHECK(times.ns(0) == 150);
  CHECK(times.ns(1) == 100);
}

TEST_CASE("a launch 5,000 rows deep costs what has a slot around it, not its depth") {
  std::vector<int32_t> slot(5000, -1);
  slot[10] = 0;
  slot[20] = 1;
  SlotTimes sparse(nested(5000), slot, 2);
  SlotTimes recursive(nested(5000), std::vector<int32_t>(5000, 0), 1);
  for (int64_t i = 0; i < 1000; ++i) {
    sparse.add(4999, LocalNs{i * 10}, 5);
    recursive.add(4999, LocalNs{i * 10}, 5);
  }
  CHECK(sparse.steps() == 3 * 1000);  // the launch and two rows
  CHECK(recursive.steps() == 1000);
  CHECK(sparse.ns(0) == 5000);
  CHECK(recursive.ns(0) == 5000);
}
