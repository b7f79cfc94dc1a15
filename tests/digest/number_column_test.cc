#include <catch2/catch.hpp>
#include <random>

#include "src/digest/number_column.h"

using namespace skewscope::digest;  // NOLINT

namespace {

std::vector<uint64_t> there_and_back(const std::vector<uint64_t>& numbers, Slope slope) {
  std::string planes;
  const NumberColumn column = encode_numbers(numbers, slope, planes);
  REQUIRE(planes.size() == column.bytes());
  std::vector<uint64_t> decoded;
  decode_numbers(column, planes.data(), [&](size_t begin, const uint64_t* piece, size_t count) {
    REQUIRE(begin == decoded.size());
    decoded.insert(decoded.end(), piece, piece + count);
  });
  return decoded;
}

}  // namespace

TEST_CASE("any column of numbers comes back, flat or rising") {
  const uint64_t most = UINT64_MAX, sign = uint64_t{1} << 63;
  std::vector<std::vector<uint64_t>> columns = {{}, {7}, {most}, {0, most, 0}, {sign, sign - 1, sign}, {5, 5, 5, 5}};
  std::mt19937_64 random(1);
  for (const size_t rows : {1u, 511u, 512u, 513u, 5000u}) {
    columns.emplace_back();
    for (size_t i = 0; i < rows; ++i) columns.back().push_back(random() >> (random() % 64));
  }
  for (const auto& column : columns) {
    CHECK(there_and_back(column, Slope::flat) == column);
    CHECK(there_and_back(column, Slope::rising) == column);
  }
}

TEST_CASE("stamps of today cost a byte a row when they rise by less than 256 more than their smallest step") {
  std::string planes;
  const uint64_t start = 1'700'000'000'000'000'000;
  const NumberColumn column = encode_numbers({start, start + 1000, start + 2255, start + 3300}, Slope::rising, planes);
  CHECK(column.planes == 1);
  CHECK(planes.size() == 4);
}

TEST_CASE("whole microseconds in nanoseconds cost what microseconds do") {
  std::string planes;
  const std::vector<uint64_t> stamps = {7'000'000, 7'001'000, 7'255'000};
  const NumberColumn column = encode_numbers(stamps, Slope::flat, planes);
  CHECK(column.unit == 1000);
  CHECK(column.planes == 1);
  CHECK(there_and_back(stamps, Slope::flat) == stamps);
}

TEST_CASE("a column of one number repeated takes no bytes") {
  std::string planes;
  CHECK(encode_numbers({9, 9, 9}, Slope::flat, planes).planes == 0);
  CHECK(planes.empty());
}
