// The views that keep the names of other tools, read back from the database of the real job of eight ranks: waits and
// late ranks are those of the hand-made table of the traces.
#include <sqlite3.h>

#include <catch2/catch.hpp>

#include "../real_trace_folder.h"
#include "../temporary_folder.h"
#include "skewscope/correlate.h"
#include "skewscope/report.h"

using namespace skewscope;

namespace {

using Rows = std::vector<std::vector<double>>;

Rows query(const std::string& database, const std::string& sql) {
  sqlite3* opened = nullptr;
  REQUIRE(sqlite3_open_v2(database.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(opened, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  Rows rows;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    std::vector<double>& row = rows.emplace_back();
    for (int c = 0; c < sqlite3_column_count(statement); ++c) row.push_back(sqlite3_column_double(statement, c));
  }
  sqlite3_finalize(statement);
  sqlite3_close(opened);
  return rows;
}

}  // namespace

TEST_CASE("views with the names of TraceLens and Ascend give the waits and late ranks of the real job") {
  const std::string traces = test::traces("dlrm_8rank");
  if (traces.empty()) return;
  const test::Folder folder("views");
  StageTimer timer;
  const Result<JobReport> report = correlate({traces}, {}, timer);
  REQUIRE(report.ok());
  WriteOptions options;
  options.directory = (folder.path / "report").string();
  options.formats = {"sqlite"};
  REQUIRE(write_report(report.value(), {"", "", ""}, options).ok());
  const std::string database = options.directory + "/report.sqlite";

  CHECK(query(database, "SELECT rank, total_wait_time_us FROM straggler_summary ORDER BY rank") ==
        Rows{{0, 5580}, {1, 11125}, {2, 3280}, {3, 9571}, {4, 6370}, {5, 6041}, {6, 3342}, {7, 1534}});
  CHECK(query(database, "SELECT rank, times_arrived_last FROM straggler_summary WHERE times_arrived_last > 0") ==
        Rows{{7, 5}, {5, 2}, {4, 1}});
  CHECK(query(database, "SELECT \"skew in start time\" FROM nccl_implicit_sync ORDER BY collective_id") ==
        Rows{{7624}, {1101}, {168}, {125}, {223}, {534}, {584}, {885}});
  const Rows earliest =
      query(database, "SELECT \"earliest arrival rank\" FROM nccl_implicit_sync ORDER BY collective_id");
  CHECK(earliest == query(database,
                          "SELECT rank FROM (SELECT collective_id, rank, row_number() OVER (PARTITION BY "
                          "collective_id ORDER BY wait_time_us DESC, rank DESC) AS place FROM nccl_long) "
                          "WHERE place = 1 ORDER BY collective_id"));
  CHECK(query(database, "SELECT count(*) FROM nccl_long") == Rows{{64}});
  CHECK(query(database, "SELECT sum(count) FROM nccl_summary_implicit_sync") == Rows{{8}});
  CHECK(query(database, "SELECT \"Computing\", \"Overlapped\" FROM cluster_step_trace_time WHERE \"Index\" = 7") ==
        Rows{{1059, 166}});
  // The columns of Ascend's table, in its order; nothing of this job is received.
  CHECK(query(database,
              "SELECT \"Step\" IS NULL, \"Bubble\", \"Stage\" - \"Computing\" - \"Communication(Not "
              "Overlapped)\" - \"Free\" - exposed_memcpy_ns / 1000.0 < 1e-6, \"Preparing\" IS NULL, "
              "\"Communication(Not Overlapped)\" = \"Communication(Not Overlapped and Exclude Receive)\" "
              "FROM cluster_step_trace_time JOIN ranks ON \"Index\" = rank WHERE rank = 7") == Rows{{1, 0, 1, 1, 1}});
}

TEST_CASE("of collectives whose members are not all there the views tell no bandwidth and no last rank") {
  const std::string traces = test::traces("sampled_2of128");
  if (traces.empty()) return;
  const test::Folder folder("views_incomplete");
  StageTimer timer;
  const Result<JobReport> report = correlate({traces}, {}, timer);
  REQUIRE(report.ok());
  WriteOptions options;
  options.directory = (folder.path / "report").string();
  options.formats = {"sqlite"};
  REQUIRE(write_report(report.value(), {"", "", ""}, options).ok());
  const std::string database = options.directory + "/report.sqlite";
  CHECK(query(database, "SELECT count(*), count(\"bus bw (GB/s)_mean\") FROM nccl_summary_implicit_sync") ==
        Rows{{4, 0}});
  CHECK(query(database, "SELECT count(*) FROM straggler_summary") == Rows{{0}});
}
