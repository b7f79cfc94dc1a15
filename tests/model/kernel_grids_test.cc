#include <catch2/catch.hpp>

#include "skewscope/model/rank_trace.h"

using namespace skewscope;  // NOLINT

TEST_CASE("numbers of kernels and grids are those of their texts") {
  CHECK(kernel_number("sm90_gemm") == kernel_number("sm90_gemm"));
  CHECK(kernel_number("sm90_gemm") != kernel_number("sm90_gemm_2"));
  CHECK(kernel_number("a") != kernel_number("b"));
  CHECK(grid_number("[8, 1, 1]") == grid_number("[8, 1, 1]"));
  CHECK(grid_number("[8, 1, 1]") != grid_number("[9, 1, 1]"));
  CHECK(grid_number("[1024, 16, 1]") != grid_number("[1024, 18, 1]"));
  CHECK(grid_number("") == 0);
  CHECK(grid_number("8") != 0);
}

TEST_CASE("a trace keeps the grids that take a thousandth of its computing or more, to the microsecond") {
  const std::vector<KernelGrid> kept =
      longest_grids({{2, 9, 1, 900'400}, {1, 7, 3, 2'000'600}, {3, 1, 1, 2'000}, {1, 4, 1, 100'000}});
  CHECK(kept == std::vector<KernelGrid>{{1, 4, 1, 100'000}, {1, 7, 3, 2'001'000}, {2, 9, 1, 900'000}});
}

TEST_CASE("of very many grids those that take longest are kept") {
  std::vector<KernelGrid> all;
  for (uint32_t k = 0; k < 600; ++k) all.push_back({k, 1, 1, 1'000'000 + int64_t{k} * 1000});
  const std::vector<KernelGrid> kept = longest_grids(all);
  REQUIRE(kept.size() == kMostKernelGrids);
  CHECK(kept.front().kernel == 600 - kMostKernelGrids);
}
