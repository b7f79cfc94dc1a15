#include "skewscope/base/column.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <numeric>

using namespace skewscope;

namespace {

Column<int64_t> numbers(size_t rows, int64_t first = 0) {
  Column<int64_t> column(rows);
  std::iota(column.begin(), column.end(), first);
  return column;
}

}  // namespace

TEST_CASE("packed columns lie one behind the other, and hold what they held") {
  Column<int64_t> a = numbers(1000), b = numbers(500, 7);
  ColumnPacker packer;
  packer.pack(a);
  packer.pack(b);
  CHECK(a.data() + a.size() == b.data());
  CHECK(a == numbers(1000));
  CHECK(b == numbers(500, 7));
}

TEST_CASE("a block is given back with the last column in it") {
  Column<int64_t> a = numbers(1000), b = numbers(1000);
  std::weak_ptr<ColumnBlock> block;
  {
    ColumnPacker packer;
    packer.pack(a);
    packer.pack(b);
    block = a.get_allocator().block();
    REQUIRE(block.lock() == b.get_allocator().block());
  }
  a = Column<int64_t>();
  CHECK_FALSE(block.expired());
  CHECK(b == numbers(1000));
  b = Column<int64_t>();
  CHECK(block.expired());
}

TEST_CASE("a moved column stays in its block, a copy lies elsewhere") {
  Column<int64_t> column = numbers(1000);
  ColumnPacker().pack(column);
  const auto block = column.get_allocator().block();
  REQUIRE(block->holds(column.data()));
  const Column<int64_t> copy = column;
  CHECK_FALSE(copy.get_allocator().block());
  CHECK_FALSE(block->holds(copy.data()));
  const Column<int64_t> moved = std::move(column);
  CHECK(block->holds(moved.data()));
  CHECK(moved == copy);
}

TEST_CASE("a packed column can grow beyond its block") {
  Column<int64_t> column = numbers(100);
  ColumnPacker().pack(column);
  for (int64_t i = 100; i < 100'000; ++i) column.push_back(i);
  CHECK(column == numbers(100'000));
}

TEST_CASE("what a column leaves at the end of a block, a smaller one takes") {
  ColumnPacker packer;
  std::vector<Column<int64_t>> columns(12, numbers(3000));
  for (Column<int64_t>& column : columns) packer.pack(column);
  const auto first = columns.front().get_allocator().block();
  REQUIRE(columns.back().get_allocator().block() != first);
  Column<int64_t> small = numbers(100);
  packer.pack(small);
  CHECK(small.get_allocator().block() == first);
}

TEST_CASE("long columns and empty ones stay where they are") {
  Column<int64_t> empty, longer = numbers(ColumnPacker::kLongestPacked / sizeof(int64_t) + 1);
  const int64_t* const place = longer.data();
  ColumnPacker packer;
  packer.pack(empty);
  packer.pack(longer);
  CHECK_FALSE(empty.get_allocator().block());
  CHECK(longer.data() == place);
}
