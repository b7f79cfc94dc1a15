#include <catch2/catch.hpp>
#include <limits>

#include "page_rows.h"
#include "src/report/page_data/packed_numbers.h"

using namespace skewscope;
using nlohmann::json;

namespace {

std::string packed(const std::vector<std::optional<int64_t>>& numbers) {
  report::PackedNumbers out;
  for (const std::optional<int64_t>& number : numbers) {
    if (number) {
      out.put(*number);
    } else {
      out.put_none();
    }
  }
  return out.take();
}

}  // namespace

TEST_CASE("whole numbers are letters of five bits, small ones a single letter, and what is not known is a dot") {
  CHECK(packed({0, -1, 1, -2, 15}) == "ABCDe");
  CHECK(packed({16, 1000}) == "gBw-B");  // 32 = 0 + 1 * 32; 2000 = 16 + 30 * 32 + 1 * 1024
  CHECK(packed({std::nullopt, 3}) == ".G");
}

TEST_CASE("a number that comes again and again is written once, with how often") {
  CHECK(packed({7, 7}) == "OO");
  CHECK(packed(std::vector<std::optional<int64_t>>(101, 7)) == "O*oG");  // 100 times more: 200 = 8 + 6 * 32
  CHECK(packed({std::nullopt, std::nullopt, std::nullopt, std::nullopt, 7}) == ".*GO");
}

TEST_CASE("the largest numbers read back as they were") {
  const int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  CHECK(json(test::unpacked(packed({least, most, 0}))) == json({least, most, 0}));
}
