#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "hand_built.h"
#include "src/report/fields/table.h"
#include "src/report/tables/csv_file.h"

using namespace skewscope;
using namespace skewscope::test;
namespace fs = std::filesystem;

namespace {

HandBuilt small_job() {
  HandBuilt built = job_of(3);
  add_all_reduce(built, {0, 1000, 2000}, 5000, 4000);
  add_all_reduce(built, {10000, -1, 12000}, 15000, 4000);
  add_unmatched(built, 1, UnmatchedReason::alone);
  return built;
}

std::string field(const report::Cell& cell) {
  std::string line;
  report::append_csv_field(line, cell);
  return line;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// Result of `SELECT …` with one value; -1 on any error.
int64_t query(const std::string& database, const std::string& sql) {
  sqlite3* db = nullptr;
  sqlite3_stmt* statement = nullptr;
  int64_t value = -1;
  if (sqlite3_open(database.c_str(), &db) == SQLITE_OK &&
      sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    value = sqlite3_column_int64(statement, 0);
  }
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return value;
}

ErrorKind kind_of(const Result<Done>& result) {
  REQUIRE_FALSE(result.ok());
  return result.error().kind;
}

}  // namespace

TEST_CASE("a CSV field with a comma or a quote is quoted, none is a formula, and none holds what a terminal obeys") {
  using Text = std::string;
  CHECK(field(Text("plain text")) == "plain text");
  CHECK(field(Text("a,b")) == "\"a,b\"");
  CHECK(field(Text("say \"hi\"")) == "\"say \"\"hi\"\"\"");
  CHECK(field(Text("two\nlines")) == "two?lines");
  CHECK(field(Text("\x1b[2J\x07")) == "?[2J?");
  CHECK(field(Text("=cmd|' /C calc'!A0")) == "'=cmd|' /C calc'!A0");
  CHECK(field(Text("@SUM(A1),\"b\"")) == "\"'@SUM(A1),\"\"b\"\"\"");
  CHECK(field(Text("-1+2")) == "'-1+2");
  CHECK(field(int64_t{-1}) == "-1");
  CHECK(field(int64_t{-9'000'000'000}) == "-9000000000");
  CHECK(field(0.1) == "0.1");
  CHECK(field(true) == "true");
  CHECK(field({}) == "");
}

TEST_CASE("a CSV field is UTF-8 whatever the trace holds") {
  CHECK(field(std::string("a\xFF\xC3\xBC")) == "a\xEF\xBF\xBD\xC3\xBC");
}

TEST_CASE("collective_ranks.csv has the columns that scripts rely on, one row per instance and rank") {
  const ScratchDirectory scratch;
  REQUIRE(write_report(small_job().report(), kStamp, {scratch / "out", false, {}}).ok());
  const std::string csv = read_file(scratch / "out/tables/collective_ranks.csv");
  CHECK(first_line(csv) ==
        "instance,communicator,seq,op,dtype,bytes,rank,start_ns,end_ns,wait_ns,transfer_ns,exposed_ns,complete,note,"
        "wait_bar_ns,basis,step,measured_wait_ns");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 5);
  const std::string dtype = to_string(DType::float32);
  CHECK(csv.find("\n0,0,0,all_reduce," + dtype + ",4000,1,1000,5000,1000,3000,4000,true,,,clocks,,\n") !=
        std::string::npos);
  CHECK(csv.find(",false,incomplete: lower bound,,clocks,,\n") != std::string::npos);
}

TEST_CASE("the database has the tables of the CSV files, with as many rows and the same columns") {
  const ScratchDirectory scratch;
  const JobReport report = small_job().report();
  REQUIRE(write_report(report, kStamp, {scratch / "out", false, {}}).ok());
  const std::string database = scratch / "out/report.sqlite";
  const auto tables = report::tables_of(report);
  CHECK(query(database, "SELECT count(*) FROM sqlite_master WHERE type = 'table'") == std::ssize(tables));
  for (const report::Table& table : tables) {
    const std::string csv = read_file(scratch / "out/tables/" + table.name + ".csv");
    const int64_t lines = std::count(csv.begin(), csv.end(), '\n');
    const std::string header = first_line(csv);
    INFO(table.name);
    CHECK(query(database, "SELECT count(*) FROM " + table.name) == lines - 1);
    CHECK(query(database, "SELECT count(*) FROM pragma_table_info('" + table.name + "')") ==
          std::count(header.begin(), header.end(), ',') + 1);
  }
  CHECK(query(database, "SELECT sum(wait_ns) FROM collective_ranks") == 3000 + 2000);
  CHECK(query(database, "SELECT count(*) FROM collective_ranks WHERE note IS NULL AND complete") == 3);
}

TEST_CASE("a database says in one row each which job it is of, what its verdict is and what could be won") {
  const ScratchDirectory scratch;
  REQUIRE(write_report(small_job().report(), kStamp, {scratch / "out", false, {}}).ok());
  const std::string database = scratch / "out/report.sqlite";
  CHECK(query(database, "SELECT count(*) FROM job, verdict, efficiency, what_if, matching") == 1);
  CHECK(query(database, "SELECT schema = 'skewscope.report/1' AND name = 'train' AND sessions = 1 FROM job") == 1);
  CHECK(query(database, "SELECT ranks_present = '0 1 2' AND ranks_missing = '' FROM job") == 1);
  CHECK(query(database, "SELECT recorded_ns IS NULL AND together_ranks = '' FROM what_if") == 1);
  CHECK(query(database,
              "SELECT count(*) FROM communicator_ranks m JOIN ranks USING (rank) WHERE m.position = m.rank") == 3);
}

TEST_CASE("a database knows its keys, and what its tables and columns mean") {
  const ScratchDirectory scratch;
  REQUIRE(write_report(small_job().report(), kStamp, {scratch / "out", false, {}}).ok());
  const std::string database = scratch / "out/report.sqlite";
  CHECK(query(database, "SELECT count(*) FROM pragma_foreign_key_list('collective_ranks')") == 2);
  CHECK(query(database, "SELECT count(*) FROM pragma_foreign_key_check") == 0);
  CHECK(query(database, "SELECT pk FROM pragma_table_info('communicators') WHERE name = 'id'") == 1);
  CHECK(query(database,
              "SELECT instr(sql, '\"compute_ns\" INTEGER, -- while its GPU computed') > 0 FROM sqlite_master "
              "WHERE name = 'ranks'") == 1);
  CHECK(query(database,
              "SELECT instr(sql, 'report --rank-tables') > 0 FROM sqlite_master "
              "WHERE name = 'rank_statistics'") == 1);
}

TEST_CASE("the bandwidth between two nodes is that of groups that lie on both and nowhere else") {
  const ScratchDirectory scratch;
  REQUIRE(write_report(small_job().report(), kStamp, {scratch / "out", false, {}}).ok());
  const std::string database = scratch / "out/report.sqlite";
  CHECK(query(database, "SELECT count(*) FROM node_pairs WHERE host = 'node-a' AND other_host = 'node-b'") == 1);
  // 4000 bytes in 3 us, three ranks: 1.333 GB/s times 2 (n - 1) / n. The incomplete instance has no bandwidth.
  CHECK(query(database, "SELECT round(1000 * bus_bandwidth_mean_gb_per_s) FROM node_pairs") == 1778);
  HandBuilt without_hosts = small_job();
  without_hosts.job.traces[1].host = "";
  REQUIRE(write_report(without_hosts.report(), kStamp, {scratch / "unknown", false, {}}).ok());
  CHECK(query(scratch / "unknown/report.sqlite", "SELECT count(*) FROM node_pairs") == 0);
}

TEST_CASE("a report directory is whole: every file, COMPLETE, and no temporary beside it") {
  const ScratchDirectory scratch;
  const JobReport report = small_job().report();
  REQUIRE(write_report(report, kStamp, {scratch / "out/", false, {}}).ok());
  CHECK(names_in(scratch.path()) == std::vector<std::string>{"out"});
  CHECK(names_in(scratch / "out") == std::vector<std::string>{"COMPLETE", "diagnostics.json", "index.html",
                                                              "report.json", "report.sqlite", "summary.txt", "tables"});
  CHECK(names_in(scratch / "out/tables").size() == 38);
  CHECK(read_file(scratch / "out/report.json") == to_json(report, kStamp));
  CHECK(read_file(scratch / "out/summary.txt") == terminal_summary(report, scratch / "out/", false));
}

TEST_CASE("equal reports are written as equal bytes") {
  const ScratchDirectory scratch;
  REQUIRE(write_report(small_job().report(), kStamp, {scratch / "a", false, {}}).ok());
  REQUIRE(write_report(small_job().report(), kStamp, {scratch / "b", false, {}}).ok());
  for (const char* file : {"report.json", "report.sqlite", "index.html", "tables/ranks.csv", "diagnostics.json"}) {
    INFO(file);
    CHECK(read_file(scratch / "a/" + file) == read_file(scratch / "b/" + file));
  }
}

TEST_CASE("a copied report is what writing it there with the new stamp would have left, byte for byte") {
  const ScratchDirectory scratch;
  const JobReport report = small_job().report();
  const ReportStamp asked_again{kStamp.tool_version, "skewscope report '</script>\"&\n' \xff", "2027-11-12T13:14:15Z"};
  for (const ReportStamp* first : {&kStamp, &asked_again}) {
    const ReportStamp& second = first == &kStamp ? asked_again : kStamp;
    fs::remove_all(scratch / "kept");
    fs::remove_all(scratch / "out");
    REQUIRE(write_report(report, *first, {scratch / "kept", false, {}}).ok());
    REQUIRE(
        copy_report(scratch / "kept", files_of_report(scratch / "kept"), *first, second, {scratch / "out", false, {}})
            .ok());
    std::map<std::string, std::string> copied;
    for (const auto& entry : fs::recursive_directory_iterator(scratch / "out")) {
      if (entry.is_regular_file()) copied[entry.path()] = read_file(entry.path());
    }
    CHECK(copied.size() == 6 + 38);
    CHECK(read_file(scratch / "kept/report.json") == to_json(report, *first));
    REQUIRE(write_report(report, second, {scratch / "out", true, {}}).ok());
    for (const auto& [file, text] : copied) {
      INFO(file);
      CHECK(text == read_file(file));
    }
  }
}

TEST_CASE("a report of one format is copied without folders that it has not, and with the modes of the day") {
  const ScratchDirectory scratch;
  REQUIRE(write_report(small_job().report(), kStamp, {scratch / "kept", false, {"json"}}).ok());
  fs::permissions(scratch / "kept/diagnostics.json", fs::perms::owner_read | fs::perms::owner_write);
  REQUIRE(copy_report(scratch / "kept", files_of_report(scratch / "kept"), kStamp, kStamp, {scratch / "out", false, {}})
              .ok());
  CHECK(names_in(scratch / "out") == names_in(scratch / "kept"));
  CHECK(fs::status(scratch / "out/diagnostics.json").permissions() ==
        fs::status(scratch / "kept/report.json").permissions());
}

TEST_CASE("a report is not copied where it lacks its stamp, a file, or some of its bytes, and nothing is left") {
  const ScratchDirectory scratch;
  const std::string kept = scratch / "kept";
  const WriteOptions out{scratch / "out", false, {}};
  REQUIRE(write_report(small_job().report(), kStamp, {kept, false, {}}).ok());
  const std::vector<ReportFile> files = files_of_report(kept);
  CHECK(files.size() == 6 + 38);
  const ReportStamp other{kStamp.tool_version, "another command", kStamp.created_utc};
  CHECK(kind_of(copy_report(kept, files, other, kStamp, out)) == ErrorKind::output);
  CHECK(kind_of(copy_report(scratch / "nowhere", files, kStamp, kStamp, out)) == ErrorKind::output);
  CHECK(kind_of(copy_report(kept, {}, kStamp, kStamp, out)) == ErrorKind::output);
  for (const char* name : {"COMPLETE", "tables/ranks.csv", "report.sqlite", "report.json"}) {
    INFO(name);
    const std::string file = kept + "/" + name, text = read_file(file);
    fs::remove(file);
    CHECK(kind_of(copy_report(kept, files, kStamp, kStamp, out)) == ErrorKind::output);
    write_file(file, text.substr(0, text.size() - 1));
    CHECK(kind_of(copy_report(kept, files, kStamp, kStamp, out)) == ErrorKind::output);
    write_file(file, text);
  }
  CHECK(names_in(scratch.path()) == std::vector<std::string>{"kept"});
  CHECK(copy_report(kept, files, kStamp, kStamp, out).ok());
}

TEST_CASE("before a report takes its name it lies whole where nobody looks for it") {
  const ScratchDirectory scratch;
  std::vector<std::string> names;
  WriteOptions options{scratch / "out", false, {"json"}};
  options.before_named = [&](const std::string& whole) {
    names = names_in(whole);
    CHECK_FALSE(fs::exists(scratch / "out"));
  };
  REQUIRE(write_report(small_job().report(), kStamp, options).ok());
  CHECK(names == names_in(scratch / "out"));
}

TEST_CASE("a summary elsewhere differs in its last line, which names the directory") {
  const JobReport report = small_job().report();
  for (const std::string output :
       {"out", "/a/directory/whose/name/is/longer/than/the/eighty/columns/of/a/terminal/out"}) {
    for (const bool color : {false, true}) {
      CHECK(summary_elsewhere(terminal_summary(report, "somewhere", color), output) ==
            terminal_summary(report, output, color));
    }
  }
}

TEST_CASE("only the formats asked for are written, and an unknown one is an error before any work") {
  const ScratchDirectory scratch;
  const JobReport report = small_job().report();
  REQUIRE(write_report(report, kStamp, {scratch / "out", false, {"csv"}}).ok());
  CHECK(names_in(scratch / "out") == std::vector<std::string>{"COMPLETE", "diagnostics.json", "summary.txt", "tables"});
  CHECK(kind_of(write_report(report, kStamp, {scratch / "new", false, {"xml"}})) == ErrorKind::usage);
  CHECK_FALSE(fs::exists(scratch / "new"));
}

TEST_CASE("a whole report is replaced as a whole, and one that is not only with force") {
  const ScratchDirectory scratch;
  const JobReport report = small_job().report();
  REQUIRE(write_report(report, kStamp, {scratch / "out", false, {}}).ok());
  REQUIRE(write_report(report, kStamp, {scratch / "out", false, {"csv"}}).ok());
  CHECK_FALSE(fs::exists(scratch / "out/report.json"));
  fs::remove(scratch / "out/COMPLETE");
  write_file(scratch / "out/report.json", "{\"schema\": \"skewscope.report/1\"");
  const auto again = write_report(report, kStamp, {scratch / "out", false, {}});
  CHECK(kind_of(again) == ErrorKind::output);
  CHECK(again.error().message.find("--force") != std::string::npos);
  REQUIRE(write_report(report, kStamp, {scratch / "out", true, {"csv"}}).ok());
  CHECK(names_in(scratch.path()) == std::vector<std::string>{"out"});
}

TEST_CASE("force never deletes a directory that is no report of skewscope") {
  const ScratchDirectory scratch;
  fs::create_directory(scratch / "data");
  write_file(scratch / "data/report.json", "{\"results\": []}");
  const JobReport report = small_job().report();
  CHECK(kind_of(write_report(report, kStamp, {scratch / "data", true, {}})) == ErrorKind::output);
  CHECK(names_in(scratch / "data") == std::vector<std::string>{"report.json"});
  fs::create_directory(scratch / "empty");
  CHECK(write_report(report, kStamp, {scratch / "empty", true, {}}).ok());
}

TEST_CASE("force does not replace a report that somebody's notes lie in, and names them") {
  const ScratchDirectory scratch;
  const JobReport report = small_job().report();
  REQUIRE(write_report(report, kStamp, {scratch / "out", false, {}}).ok());
  for (const char* foreign : {"notes.md", "tables/mine.csv"}) {
    write_file(scratch / "out/" + foreign, "mine");
    const auto refused = write_report(report, kStamp, {scratch / "out", true, {}});
    CHECK(kind_of(refused) == ErrorKind::output);
    CHECK(refused.error().message.find(std::string("'") + foreign + "'") != std::string::npos);
    CHECK(read_file(scratch / "out/" + foreign) == "mine");
    fs::remove(scratch / "out/" + foreign);
  }
  CHECK(write_report(report, kStamp, {scratch / "out", true, {}}).ok());
}

TEST_CASE("a link to a report directory stays a link") {
  const ScratchDirectory scratch;
  const JobReport report = small_job().report();
  REQUIRE(write_report(report, kStamp, {scratch / "run1", false, {"csv"}}).ok());
  fs::create_directory_symlink("run1", scratch / "latest");
  REQUIRE(write_report(report, kStamp, {scratch / "latest", true, {}}).ok());
  CHECK(fs::is_symlink(scratch / "latest"));
  CHECK(fs::exists(scratch / "run1/report.json"));
}

TEST_CASE("a report that cannot be written leaves nothing behind") {
  const ScratchDirectory scratch;
  write_file(scratch / "file", "x");
  const JobReport report = small_job().report();
  CHECK(kind_of(write_report(report, kStamp, {scratch / "file", true, {}})) == ErrorKind::output);
  CHECK(kind_of(write_report(report, kStamp, {scratch / "file/below", true, {}})) == ErrorKind::output);
  CHECK(names_in(scratch.path()) == std::vector<std::string>{"file"});
}

TEST_CASE("diagnostics.json gives every finding its file, place and count") {
  HandBuilt built = small_job();
  Finding finding;
  finding.code = "bad-escape";
  finding.file = "r0.json";
  finding.byte_offset = 77;
  finding.count = 3;
  finding.message = "a string holds an escape that JSON does not know; it is kept as it stands";
  built.job.findings.push_back(finding);
  const ScratchDirectory scratch;
  REQUIRE(write_report(built.report(), kStamp, {scratch / "out", false, {}}).ok());
  const auto json = nlohmann::json::parse(read_file(scratch / "out/diagnostics.json"));
  const auto& first = json["diagnostics"][0];
  CHECK(first["code"] == "bad-escape");
  CHECK(first["byte_offset"] == 77);
  CHECK(first["count"] == 3);
  CHECK(json["diagnostics"][1]["byte_offset"].is_null());
}
