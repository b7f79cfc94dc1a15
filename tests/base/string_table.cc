#include "skewscope/base/string_table.h"

#include <catch2/catch.hpp>
#include <utility>

using namespace skewscope;

TEST_CASE("a string gets one id, however often it comes") {
  StringTable table;
  const StringId first = table.intern("ncclKernel_AllReduce");
  const StringId other = table.intern("gemm");
  CHECK(table.intern(std::string("ncclKernel_") + "AllReduce") == first);
  CHECK(first != other);
  CHECK(table.size() == 2);
  CHECK(table.view(first) == "ncclKernel_AllReduce");
}

TEST_CASE("the empty string is a string like any other") {
  StringTable table;
  CHECK(table.intern("").known());
  CHECK(table.size() == 1);
}

TEST_CASE("a string that was never interned has no id, and no id has no text") {
  StringTable table;
  table.intern("a");
  CHECK_FALSE(table.find("b").known());
  CHECK(table.size() == 1);
  CHECK(table.view(StringId()).empty());
  CHECK(table.view(StringId(17)).empty());
}

TEST_CASE("ids and texts survive growth and a move of the table") {
  StringTable table;
  for (int i = 0; i < 1000; ++i) table.intern(std::to_string(i));
  const std::string_view seven = table.view(StringId(7));
  const StringTable moved = std::move(table);
  CHECK(moved.view(StringId(7)) == "7");
  CHECK(moved.view(StringId(7)).data() == seven.data());
  CHECK(moved.find("999") == StringId(999));
}
