#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "../../src/attribute/busy_intervals.h"
#include "../../src/attribute/split_call.h"

using namespace skewscope;
using namespace skewscope::attribute;

namespace {
int64_t sum(const std::vector<int64_t>& v) { return std::accumulate(v.begin(), v.end(), int64_t{0}); }
}  // namespace

TEST_CASE("in an all-reduce everyone waits for the last to arrive") {
  // Three ranks arrive at 0, 30 and 100 and leave together at 110.
  const auto split = split_instance(Dependency::everyone, {{0, 110}, {30, 80}, {100, 10}}, std::nullopt);
  REQUIRE(split->wait_ns == std::vector<int64_t>{100, 70, 0});
  REQUIRE(split->last == 2);
  REQUIRE(split->lead_ns == 70);
}

TEST_CASE("a wait is shared among those still awaited") {
  // Until 30 rank 0 waits for two: 15 each. From 30 to 100 two wait for rank 2 alone: 140.
  const auto split = split_instance(Dependency::everyone, {{0, 110}, {30, 80}, {100, 10}}, std::nullopt);
  REQUIRE(split->caused_ns == std::vector<int64_t>{0, 15, 155});
  REQUIRE(sum(split->caused_ns) == sum(split->wait_ns));
}

TEST_CASE("a wait never exceeds the call itself, and blame follows") {
  // Rank 0 left at 20 although rank 1 arrived at 100: clocks or semantics are off, the parts still sum.
  const auto split = split_instance(Dependency::everyone, {{0, 20}, {100, 10}}, std::nullopt);
  REQUIRE(split->wait_ns == std::vector<int64_t>{20, 0});
  REQUIRE(split->caused_ns == std::vector<int64_t>{0, 20});
}

TEST_CASE("a broadcast's receiver waits only for its root") {
  // The root arrives at 50; a receiver at 200 makes nobody wait.
  const auto split = split_instance(Dependency::root, {{50, 20}, {0, 80}, {200, 10}}, 0);
  REQUIRE(split->wait_ns == std::vector<int64_t>{0, 50, 0});
  REQUIRE(split->caused_ns == std::vector<int64_t>{50, 0, 0});
  REQUIRE(split->last == 0);
}

TEST_CASE("in a reduce only the root waits") {
  const auto split = split_instance(Dependency::root_waits, {{0, 200}, {60, 20}, {150, 20}}, 0);
  REQUIRE(split->wait_ns == std::vector<int64_t>{150, 0, 0});
  REQUIRE(split->caused_ns == std::vector<int64_t>{0, 30, 120});
}

TEST_CASE("of messages each waits for the last of those it has to wait for, and only for them") {
  // 1 receives from 0; 2 from 0 and 1; nobody waits for 2.
  const auto split =
      split_instance(Dependency::partners, {{60, 40}, {0, 90}, {20, 70}}, std::nullopt, {{1, 0}, {2, 0}, {2, 1}});
  REQUIRE(split->wait_ns == std::vector<int64_t>{0, 60, 40});
  REQUIRE(split->caused_ns == std::vector<int64_t>{100, 0, 0});
  REQUIRE(split->last == 0);
  REQUIRE(split->last_arrival_ns == 60);
  REQUIRE(split->lead_ns == 60);
}

TEST_CASE("while several partners are awaited each is charged its part") {
  // 0 waits for 1, who comes after 30, and for 2, who comes after 100.
  const auto split =
      split_instance(Dependency::partners, {{0, 110}, {30, 80}, {100, 10}}, std::nullopt, {{0, 1}, {0, 2}});
  REQUIRE(split->wait_ns == std::vector<int64_t>{100, 0, 0});
  REQUIRE(split->caused_ns == std::vector<int64_t>{0, 15, 85});
}

TEST_CASE("a wait ends with the waiter's own call") {
  const auto split = split_instance(Dependency::partners, {{0, 20}, {100, 10}}, std::nullopt, {{0, 1}});
  REQUIRE(split->wait_ns == std::vector<int64_t>{20, 0});
  REQUIRE(split->caused_ns == std::vector<int64_t>{0, 20});
}

TEST_CASE("without a known root or operation nothing is split") {
  REQUIRE_FALSE(split_instance(Dependency::root, {{0, 10}, {0, 10}}, std::nullopt));
  REQUIRE_FALSE(split_instance(Dependency::none, {{0, 10}, {0, 10}}, std::nullopt));
  REQUIRE_FALSE(split_instance(Dependency::partners, {{0, 10}, {0, 10}}, std::nullopt));
}

TEST_CASE("charges sum to the waits to the nanosecond, for any arrivals") {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<Arrival> arrivals;
    const size_t n = 2 + random() % 9;
    for (size_t i = 0; i < n; ++i) {
      arrivals.push_back({static_cast<int64_t>(random() % 1000), static_cast<int64_t>(random() % 1500)});
    }
    std::vector<Awaited> awaited;
    for (size_t waiter = 0; waiter < n; ++waiter) {
      for (size_t partner = 0; partner < n; ++partner) {
        if (partner != waiter && random() % 3 == 0) awaited.push_back({waiter, partner});
      }
    }
    awaited.push_back({n - 1, 0});
    for (const Dependency dependency :
         {Dependency::everyone, Dependency::root, Dependency::root_waits, Dependency::partners}) {
      const auto split = split_instance(dependency, arrivals, random() % n, awaited);
      REQUIRE(sum(split->caused_ns) == sum(split->wait_ns));
      for (size_t i = 0; i < n; ++i) {
        REQUIRE(split->wait_ns[i] >= 0);
        REQUIRE(split->wait_ns[i] <= arrivals[i].duration_ns);
        REQUIRE(split->caused_ns[i] >= 0);
      }
    }
  }
}

TEST_CASE("covered time counts overlapping computation once and no communication") {
  GpuEvents gpu;
  const auto row = [&](GpuWork work, int64_t start, int64_t duration) {
    gpu.start.push_back(LocalNs{start});
    gpu.duration_ns.push_back(duration);
    gpu.work.push_back(work);
  };
  row(GpuWork::compute, 0, 100);
  row(GpuWork::communication, 40, 500);
  row(GpuWork::memset, 50, 100);
  row(GpuWork::memcpy, 200, 50);
  row(GpuWork::compute, 300, 10);
  const BusyIntervals busy(gpu);
  REQUIRE(busy.covered_ns(LocalNs{0}, LocalNs{1000}) == 160);
  REQUIRE(busy.covered_ns(LocalNs{90}, LocalNs{305}) == 65);
  REQUIRE(busy.covered_ns(LocalNs{150}, LocalNs{300}) == 0);
  REQUIRE(busy.covered_ns(LocalNs{20}, LocalNs{20}) == 0);
  BusyIntervals::InOrder in_order(busy);
  REQUIRE(in_order.covered_ns(LocalNs{90}, LocalNs{120}) == 30);
  REQUIRE(in_order.covered_ns(LocalNs{140}, LocalNs{140}) == 0);
  REQUIRE(in_order.covered_ns(LocalNs{140}, LocalNs{302}) == 12);
  REQUIRE(in_order.covered_ns(LocalNs{305}, LocalNs{1000}) == 5);
  REQUIRE(in_order.covered_ns(LocalNs{40}, LocalNs{160}) == 110);
}

TEST_CASE("covered time is that of every nanosecond, however many rows there are and wherever a search begins") {
  constexpr int64_t kEnd = 2000;
  std::mt19937 random(3);
  std::vector<std::pair<int64_t, int64_t>> rows;  // start, duration
  for (int i = 0; i < 300; ++i) rows.emplace_back(random() % (kEnd / 2), random() % 4 == 0 ? 0 : random() % 12);
  rows.emplace_back(1200, 300);  // those within it end before it
  for (int i = 0; i < 100; ++i) rows.emplace_back(1200 + 2 * i, 1);
  std::sort(rows.begin(), rows.end());
  GpuEvents gpu;
  std::vector<bool> busy_at(kEnd, false);
  for (const auto& [start, duration] : rows) {
    const bool computes = random() % 3 != 0 || start == 1200;
    gpu.start.push_back(LocalNs{start});
    gpu.duration_ns.push_back(duration);
    gpu.work.push_back(computes ? GpuWork::compute : GpuWork::memcpy);
    for (int64_t t = start; computes && t < start + duration; ++t) busy_at[static_cast<size_t>(t)] = true;
  }
  const BusyIntervals busy(gpu);
  BusyIntervals::InOrder in_order(busy);
  for (int i = 0; i < 2000; ++i) {
    const int64_t from = random() % kEnd, to = from + random() % (kEnd - from);
    const int64_t expected = std::count(busy_at.begin() + from, busy_at.begin() + to, true);
    REQUIRE(busy.covered_ns(LocalNs{from}, LocalNs{to}) == expected);
    REQUIRE(in_order.covered_ns(LocalNs{from}, LocalNs{to}) == expected);
  }
}
