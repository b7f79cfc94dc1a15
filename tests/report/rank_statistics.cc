// Figures of several ranks in one row: least, median, most, and who is apart.
#include <catch2/catch.hpp>

#include "../job_builder.h"
#include "skewscope/report.h"
#include "src/report/rows/rank_statistics.h"

using namespace skewscope;

namespace {

// One figure of ranks 0, 1, 2, …
std::vector<JobReport::RankStatistic> statistics_of(const std::vector<int64_t>& values) {
  const JobBuilder b(static_cast<int32_t>(values.size()));
  std::vector<RankFigures> figures;
  for (const int64_t value : values) figures.push_back({{"timeline", "", "idle_ns", value}});
  return report::rank_statistics(b.job, figures);
}

}  // namespace

TEST_CASE("a figure of five ranks has its least, median and most, with the ranks that have them") {
  const auto rows = statistics_of({50, 10, 40, 30, 20});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].ranks == 5);
  CHECK(rows[0].min == 10);
  CHECK(rows[0].min_rank == 1);
  CHECK(rows[0].median == 30);
  CHECK(rows[0].max == 50);
  CHECK(rows[0].max_rank == 0);
  CHECK(rows[0].outliers.empty());
}

TEST_CASE("the median of an even number of ranks lies between the two in the middle") {
  CHECK(statistics_of({10, 20, 30, 45}).at(0).median == 25);
}

TEST_CASE("a rank with half the others' idle time again is apart") {
  CHECK(statistics_of({1000, 1010, 990, 1005, 1500, 995}).at(0).outliers == std::vector<int32_t>{4});
}

TEST_CASE("where all others agree to the nanosecond, a rank within five percent of them is not apart") {
  CHECK(statistics_of({1000, 1000, 1000, 1000, 1040}).at(0).outliers.empty());
  CHECK(statistics_of({1000, 1000, 1000, 1000, 1060}).at(0).outliers == std::vector<int32_t>{4});
}

TEST_CASE("among three ranks nobody is apart") { CHECK(statistics_of({1000, 1000, 9000}).at(0).outliers.empty()); }

TEST_CASE("a rank that lacks a figure is not counted in it") {
  const JobBuilder b(3);
  const auto rows =
      report::rank_statistics(b.job, {{{"kernels", "gemm", "total_ns", 7}}, {}, {{"kernels", "gemm", "total_ns", 9}}});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].ranks == 2);
  CHECK(rows[0].max_rank == 2);
  CHECK(rows[0].median == 8);
}

TEST_CASE("a kernel that one rank of four runs sets it apart") {
  const JobBuilder b(4);
  const auto rows = report::rank_statistics(b.job, {{}, {}, {{"kernels", "rogue", "count", 7}}, {}});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].outliers == std::vector<int32_t>{2});
}

TEST_CASE("times that differ by a step of the clock are not apart") {
  JobBuilder b(5);
  for (RankTrace& trace : b.job.traces) trace.resolution_ns = 1000;
  std::vector<RankFigures> figures;
  for (const int64_t value : {2000, 2000, 2000, 2000, 3000}) figures.push_back({{"copies", "DtoH", "total_ns", value}});
  CHECK(report::rank_statistics(b.job, figures).at(0).outliers.empty());
  figures[4][0].value = 5000;
  CHECK(report::rank_statistics(b.job, figures).at(0).outliers == std::vector<int32_t>{4});
}

TEST_CASE("rows are sorted by table, key and metric, whatever the order of the figures") {
  const JobBuilder b(1);
  const auto rows = report::rank_statistics(
      b.job, {{{"timeline", "", "idle_ns", 1}, {"kernels", "b", "count", 2}, {"kernels", "a", "total_ns", 3}}});
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].key == "a");
  CHECK(rows[1].key == "b");
  CHECK(rows[2].table == "timeline");
}
