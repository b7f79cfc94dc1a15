#include "src/report/fields/table.h"
#include "src/report/rows/all_to_all_rows.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "hand_built.h"
#include "skewscope/report.h"

using namespace skewscope;

namespace {

JobReport::AllToAll uneven_group() {
  JobReport::AllToAll group;
  group.communicator = 3;
  group.calls = group.calls_with_sizes = 4;
  group.bytes = 400;
  group.dispatches = 2;
  group.imbalance = group.imbalance_per_call = 1.5;
  group.busiest_rank = 5;
  group.busiest_share = 0.75;
  group.waited_ns = 2'000'000;
  group.waited_for_busiest_ns = 1'000'000;
  group.ranks = {{3, 1, 200, 200, 50}, {3, 5, 200, 200, 150}};
  group.pairs = {{3, 1, 5, 150, 4}, {3, 5, 1, 50, 4}};
  return group;
}

JobReport report_of(std::vector<JobReport::AllToAll> groups) {
  JobReport report;
  report.all_to_all = std::move(groups);
  return report;
}

}  // namespace

TEST_CASE("all-to-alls of a group are one row in report.json and a matrix in its table; what is not known is null") {
  JobReport::AllToAll unknown;
  unknown.calls = 2;
  const JobReport report = report_of({uneven_group(), unknown});
  const auto json = nlohmann::json::parse(to_json(report, {"0", "skewscope report", "2026-01-01T00:00:00Z"}));
  CHECK(json["all_to_all"][0]["imbalance"] == 1.5);
  CHECK(json["all_to_all"][0]["busiest_rank"] == 5);
  CHECK(json["all_to_all"][0]["waited_for_busiest_ns"] == 1'000'000);
  CHECK(json["all_to_all"][1]["imbalance"].is_null());
  CHECK(json["all_to_all"][1]["busiest_rank"].is_null());
  const std::vector<report::Table> tables = report::tables_of(report);
  const auto table =
      std::find_if(tables.begin(), tables.end(), [](const auto& one) { return one.name == "all_to_all"; });
  REQUIRE(table != tables.end());
  CHECK(table->rows == 2);
  std::vector<report::Cell> cells;
  table->fill(1, cells);
  CHECK(std::get<int64_t>(cells[1]) == 5);
  CHECK(std::get<int64_t>(cells[2]) == 1);
  CHECK(std::get<int64_t>(cells[3]) == 50);
}

TEST_CASE("a rank that receives far more than its group is said to, in words and as a finding; others are not") {
  JobReport::AllToAll even = uneven_group();
  even.communicator = 4;
  even.imbalance = even.imbalance_per_call = 1.1;
  even.busiest_rank = 6;
  const JobReport report = report_of({uneven_group(), even});
  CHECK(report::receiving_words(report, 5) == "receives 1.50 times as many tokens as the mean of its group");
  CHECK(report::receiving_words(report, 6).empty());
  CHECK(report::receiving_words(report, 1).empty());
  Findings findings;
  report::add_uneven_groups(report, findings);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code.text() == "uneven-all-to-all");
  CHECK(findings[0].message ==
        "in all-to-alls of group 3 rank 5 receives 1.50 times the mean, and the busiest rank of a call 1.50 times; the "
        "busiest ranks cause 50 % of the waiting after these calls (2.00 ms)");
}
