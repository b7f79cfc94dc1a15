#include "src/ingest/content/near_numbers.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

using skewscope::ingest::NearNumbers;

namespace {

NearNumbers ids_of(const std::vector<int64_t>& values) {
  NearNumbers ids;
  for (const int64_t value : values) ids.push_back(value);
  return ids;
}

size_t bytes_per_id(const NearNumbers& ids) {
  size_t bytes = 0;
  ids.visit_column([&](const auto& column) { bytes = sizeof(column[0]); });
  return bytes;
}

void check_holds(const NearNumbers& ids, const std::vector<int64_t>& values) {
  REQUIRE(ids.size() == values.size());
  for (size_t i = 0; i < values.size(); ++i) CHECK(ids[i] == values[i]);
}

}  // namespace

TEST_CASE("numbers near each other take 4 bytes, wherever they begin, with none among them") {
  for (const int64_t first : {int64_t{0}, int64_t{1} << 40, INT64_MAX - 5}) {
    const std::vector<int64_t> values = {-1, first + 2, first, -1, first + 5};
    const NearNumbers ids = ids_of(values);
    CHECK(bytes_per_id(ids) == 4);
    check_holds(ids, values);
  }
}

TEST_CASE("a number that lies too far from the first one, or is negative, is kept as it is, and those before it") {
  for (const int64_t far : {int64_t{1} << 31, int64_t{1} << 62, INT64_MAX, int64_t{-2}, INT64_MIN}) {
    const std::vector<int64_t> values = {0, -1, 7, far, 8, -1};
    const NearNumbers ids = ids_of(values);
    CHECK(bytes_per_id(ids) == 8);
    check_holds(ids, values);
  }
  check_holds(ids_of({int64_t{1} << 31, 0}), {int64_t{1} << 31, 0});
  check_holds(ids_of({INT64_MIN, 3}), {INT64_MIN, 3});
}
