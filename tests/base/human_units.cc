#include "skewscope/base/human_units.h"

#include <catch2/catch.hpp>

using namespace skewscope;

TEST_CASE("a size is shown as options take it, in the largest unit that it is a whole number of") {
  CHECK(size_text(100 << 20) == "100M");
  CHECK(size_text(int64_t{8} << 30) == "8G");
  CHECK(size_text(1536) == "1536 bytes");
  CHECK(size_text(int64_t{3} << 19) == "1536K");
  CHECK(size_text(1000) == "1000 bytes");
}
