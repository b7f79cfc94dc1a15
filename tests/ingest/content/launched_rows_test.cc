#include "src/ingest/content/launched_rows.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <tuple>

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

// Row i has i in every field; each third communicates.
GpuRows numbered_rows(int32_t n) {
  GpuRows rows;
  for (int32_t i = 0; i < n; ++i) {
    GpuRow row;
    row.start = LocalNs{i};
    row.duration_ns = row.correlation = row.external_id = i;
    row.name = StringId(i);
    row.stream = row.args = i;
    row.device = static_cast<int16_t>(i);
    row.work = i % 3 == 0 ? GpuWork::communication : GpuWork::compute;
    rows.append({row});
  }
  return rows;
}

void check_is_row(const GpuRow& row, int32_t i) {
  CHECK(std::make_tuple(row.start.ns, row.duration_ns, row.correlation) == std::make_tuple(i, i, i));
  CHECK(std::make_tuple(row.name.index(), row.stream, row.device) == std::make_tuple(static_cast<size_t>(i), i, i));
  const bool communicates = i % 3 == 0;
  CHECK((row.work == GpuWork::communication) == communicates);
  CHECK(row.external_id == (communicates ? i : -1));
  CHECK(row.args == (communicates ? i : -1));
}

}  // namespace

TEST_CASE("GPU rows change places as a whole: all, some that lie together, or none") {
  std::mt19937 random(7);
  std::vector<std::vector<int32_t>> orders(4, std::vector<int32_t>(50));
  for (std::vector<int32_t>& order : orders) std::iota(order.begin(), order.end(), 0);
  std::reverse(orders[1].begin(), orders[1].end());
  std::shuffle(orders[2].begin(), orders[2].end(), random);
  for (int32_t begin = 5; begin < 45; begin += 10) {
    std::shuffle(orders[3].begin() + begin, orders[3].begin() + begin + 4, random);
  }
  for (const std::vector<int32_t>& order : orders) {
    GpuRows rows = numbered_rows(50);
    rearrange(order, rows);
    for (size_t i = 0; i < order.size(); ++i) check_is_row(rows[i], order[i]);
  }
}

TEST_CASE("launches change places as a whole") {
  LaunchRows rows;
  for (int64_t i = 0; i < 4; ++i) rows.append({{LocalNs{i}, i, i, i}});
  rearrange({0, 3, 1, 2}, rows);
  for (const auto& [place, number] : {std::pair(0, 0), {1, 3}, {2, 1}, {3, 2}}) {
    const LaunchRow row = rows[static_cast<size_t>(place)];
    CHECK(std::make_tuple(row.start.ns, row.duration_ns, row.correlation, row.thread) ==
          std::make_tuple(number, number, number, number));
  }
}

TEST_CASE("of GPU rows those that are named are kept") {
  GpuRows rows = numbered_rows(10);
  keep({0, 3, 4, 9}, rows);
  REQUIRE(rows.size() == 4);
  check_is_row(rows[1], 3);
  check_is_row(rows[2], 4);
  check_is_row(rows[3], 9);
}

TEST_CASE("External ids tell something once one of any row is not its correlation") {
  GpuRows rows = numbered_rows(10);
  CHECK_FALSE(rows.external_ids_tell);
  GpuRow copy;
  copy.correlation = 10;
  rows.append({copy});
  CHECK_FALSE(rows.external_ids_tell);
  copy.external_id = 11;
  rows.append({copy});
  CHECK(rows.external_ids_tell);
}
