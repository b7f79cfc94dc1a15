#include "src/summarize/operators/slot_times.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>

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
  const CallTree tree = nested(5);
  const std::vector<int32_t> slot = {0, -1, 1, 0, -1};
  SlotTimes times(tree, slot, 2);
  times.add(4, LocalNs{0}, 100);   // within all of them
  times.add(1, LocalNs{50}, 100);  // within row 0 only
  times.add(-1, LocalNs{500}, 1);  // an orphan
  times.finish();
  CHECK(times.ns(0) == 150);
  CHECK(times.ns(1) == 100);
}

TEST_CASE("rows of a slot that run on the GPU at once count their common time once") {
  // Rows 1 and 3 have slot 1, row 0 around them slot 0, as row 2 within row 1.
  CallTree tree;
  tree.parent = {-1, 0, 1, 0};
  const std::vector<int32_t> slot = {0, 1, 0, 1};
  SlotTimes times(tree, slot, 2);
  times.add(2, LocalNs{0}, 100);
  times.add(3, LocalNs{60}, 100);
  times.add(1, LocalNs{300}, 10);
  times.finish();
  CHECK(times.ns(0) == 170);
  CHECK(times.ns(1) == 170);
}

namespace {

// Each slot by a look at each launch and each row around it.
std::vector<int64_t> by_definition(const CallTree& tree, const std::vector<int32_t>& slot, size_t slots,
                                   const std::vector<std::array<int64_t, 3>>& launches) {
  std::vector<std::vector<uint8_t>> busy(slots, std::vector<uint8_t>(2000));
  for (const auto& [row, start, duration] : launches) {
    for (auto at = static_cast<int32_t>(row); at >= 0; at = tree.parent[static_cast<size_t>(at)]) {
      if (slot[static_cast<size_t>(at)] < 0) continue;
      auto& of_slot = busy[static_cast<size_t>(slot[static_cast<size_t>(at)])];
      std::fill_n(of_slot.begin() + start, duration, 1);
    }
  }
  std::vector<int64_t> ns;
  for (const auto& of_slot : busy) ns.push_back(std::count(of_slot.begin(), of_slot.end(), 1));
  return ns;
}

}  // namespace

TEST_CASE("times of slots are those of the definition, in any tree and with any overlap") {
  std::mt19937 random(7);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint32_t>(n)); };
  for (int round = 0; round < 300; ++round) {
    CallTree tree;
    std::vector<int32_t> slot;
    const int64_t rows = 1 + below(40);
    const auto slots = static_cast<size_t>(1 + below(12));
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t chain = below(3) > 0 ? row - 1 : below(row + 1) - 1;  // deep, or anywhere
      tree.parent.push_back(static_cast<int32_t>(chain));
      slot.push_back(static_cast<int32_t>(below(static_cast<int64_t>(slots) + 1)) - 1);
    }
    std::vector<std::array<int64_t, 3>> launches;
    for (int64_t i = below(60); i > 0; --i) launches.push_back({below(rows), below(1500), below(200)});
    std::sort(launches.begin(), launches.end(), [](const auto& a, const auto& b) { return a[1] < b[1]; });
    SlotTimes times(tree, slot, slots);
    for (const auto& [row, start, duration] : launches) {
      times.add(static_cast<int32_t>(row), LocalNs{start}, duration);
    }
    times.finish();
    const std::vector<int64_t> expected = by_definition(tree, slot, slots, launches);
    for (size_t i = 0; i < slots; ++i) REQUIRE(times.ns(i) == expected[i]);
  }
}

TEST_CASE("launches within 5,000 ranges of different names cost no more than within a few") {
  std::vector<int32_t> slot(5000);
  std::iota(slot.begin(), slot.end(), 0);
  const CallTree tree = nested(5000);
  SlotTimes one_stream(tree, slot, 5000), two_streams(tree, slot, 5000);
  for (int64_t i = 0; i < 1000; ++i) {
    one_stream.add(4999, LocalNs{i * 10}, 5);
    two_streams.add(4999, LocalNs{i * 10}, 12);  // runs on when the next one begins
    two_streams.add(2500, LocalNs{i * 10 + 5}, 7);
  }
  one_stream.finish();
  two_streams.finish();
  CHECK(one_stream.steps() == 0);
  CHECK(two_streams.steps() <= 3 * 2000);
  for (const size_t depth : {0u, 2500u}) {
    CHECK(one_stream.ns(depth) == 5000);
    CHECK(two_streams.ns(depth) == 999 * 10 + 12);
  }
  CHECK(two_streams.ns(4999) == 999 * 10 + 12);
}

TEST_CASE("calls of one name one after another are added up without a look at what is around each launch") {
  // 100 ranges of 50 names each, every range a nest of its own.
  CallTree tree;
  std::vector<int32_t> slot;
  for (int32_t row = 0; row < 5000; ++row) {
    tree.parent.push_back(row % 50 == 0 ? -1 : row - 1);
    slot.push_back(row % 50);
  }
  SlotTimes times(tree, slot, 50);
  for (int32_t i = 0; i < 100; ++i) times.add(i * 50 + 49, LocalNs{i * 10}, 10);
  times.finish();
  CHECK(times.steps() == 0);
  CHECK(times.ns(0) == 1000);
  CHECK(times.ns(49) == 1000);
}
