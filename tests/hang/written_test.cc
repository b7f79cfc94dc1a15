// What people and programs get: summary, documents, folder.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "../temporary_folder.h"
#include "dumps.h"

using namespace skewscope;        // NOLINT
using namespace skewscope::test;  // NOLINT

namespace {

using Json = nlohmann::json;

const HangStamp kStamp = {"skewscope hang d", "0", "2026-01-01T00:00:00Z"};
const std::string kRecorded = SKEWSCOPE_SOURCE_DIR "/tests/data/hangs/";

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> names_of(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("the summary of each recorded hang fits fifteen lines of 80 columns, verdict first") {
  for (const auto& entry : std::filesystem::directory_iterator(kRecorded)) {
    if (!entry.is_directory()) continue;
    for (const size_t columns : {60, 80, 160}) {
      const std::string text = hang_summary(find_hang(dumps_in(entry.path().string())), columns, false);
      CAPTURE(text);
      std::istringstream lines(text);
      std::string line;
      size_t count = 0;
      while (std::getline(lines, line)) {
        ++count;
        CHECK(line.size() <= columns);
      }
      CHECK(count <= 15);
      CHECK(text.find("\nVerdict") < text.find("\nWhy"));
      CHECK(text.find("\nNext") != std::string::npos);
    }
  }
}

TEST_CASE("the verdict says who did not come and how many wait") {
  const std::string text = hang_summary(find_hang(dumps_in(kRecorded + "stuck_host")), 100, false);
  CHECK(text.find("Verdict    Rank 2 did not come: 3 of 4 ranks wait for it.\n") != std::string::npos);
  const std::string done =
      hang_summary(find_hang(dumps_in(SKEWSCOPE_SOURCE_DIR "/tests/data/real/fsdp2_recorder")), 100, false);
  CHECK(done.find("Verdict    All recorded calls are completed: nothing hangs.\n") != std::string::npos);
}

TEST_CASE("hang.json has the names that its schema has, in each row") {
  const Json schema = Json::parse(text_of(SKEWSCOPE_SOURCE_DIR "/configs/hang.schema.json"));
  const Json json = Json::parse(hang_json(find_hang(dumps_in(kRecorded + "other_operation")), kStamp));
  CHECK(names_of(json) == names_of(schema["properties"]));
  for (const char* rows : {"culprits", "groups", "ranks"}) {
    CAPTURE(rows);
    REQUIRE_FALSE(json[rows].empty());
    CHECK(names_of(json[rows][0]) == names_of(schema["properties"][rows]["items"]["properties"]));
  }
  CHECK(json["schema"] == "skewscope.hang/1");
  CHECK(json["culprits"][0]["kind"] == "mismatch");
}

TEST_CASE("a report folder is whole, replaced, and no other folder is") {
  const Folder folder("hang_report");
  const HangReport report = find_hang(dumps_in(kRecorded + "missing_rank"));
  const std::string target = folder.path.string();
  REQUIRE(write_hang(report, target, kStamp, false).ok());
  for (const char* file : {"summary.txt", "hang.json", "index.html", "tables/culprits.csv", "tables/groups.csv",
                           "tables/ranks.csv", "COMPLETE"}) {
    CHECK(std::filesystem::file_size(folder.path / file) > 0);
  }
  CHECK(text_of(folder.path / "index.html").find("\"skewscope.hang/1\"") != std::string::npos);
  CHECK(write_hang(report, target, kStamp, false).ok());
  std::filesystem::remove(folder.path / "COMPLETE");
  CHECK(write_hang(report, target, kStamp, false).error().kind == ErrorKind::output);
  CHECK(write_hang(report, target, kStamp, true).ok());
}

TEST_CASE("no text of a dump ends the page's script") {
  DumpBuilder zero(0), one(1);
  zero.collective(zero.group("</script><b>", {0, 1}), 1, "all_reduce", CallState::started);
  one.group("</script><b>", {0, 1});
  const Folder folder("hang_script");
  REQUIRE(write_hang(find_hang({zero.done(), one.done()}), folder.path.string(), kStamp, false).ok());
  const std::string page = text_of(folder.path / "index.html");
  CHECK(page.find("</script><b>") == std::string::npos);
  CHECK(page.find("\\u003c/script>") != std::string::npos);
}

TEST_CASE("ranks are read from names, or by an expression") {
  const Folder folder("hang_names");
  std::filesystem::create_directories(folder.path);
  const std::string bytes = text_of(kRecorded + "stuck_host/nccl_trace_rank_0");
  for (const char* name : {"_dump_7", "nccl_trace_rank_3.pkl", "notes.txt", "job8_r12_x"})
    std::ofstream(folder.path / name) << bytes;
  const auto ranks = [](const Result<ReadDumps>& read) {
    std::vector<int32_t> found;
    for (const FlightDump& dump : read.value().dumps) found.push_back(dump.rank);
    return found;
  };
  CHECK(ranks(read_flight_dumps({folder.path.string()}, {})) == std::vector<int32_t>{3, 7, 12});
  const auto chosen = read_flight_dumps({folder.path.string()}, {"r(?<rank>[0-9]+)_x"});
  CHECK(ranks(chosen) == std::vector<int32_t>{12});
  CHECK(chosen.value().problems.size() == 3);
  CHECK(read_flight_dumps({folder.path.string()}, {"r[0-9]+"}).error().kind == ErrorKind::usage);
  CHECK(read_flight_dumps({"/nowhere"}, {}).error().kind == ErrorKind::no_input);
}

TEST_CASE("a second dump of a rank is said, and the first counts") {
  const Folder folder("hang_twice");
  std::filesystem::create_directories(folder.path / "again");
  const std::string bytes = text_of(kRecorded + "stuck_host/nccl_trace_rank_0");
  std::ofstream(folder.path / "dump_0") << bytes;
  std::ofstream(folder.path / "again/dump_0") << bytes;
  const auto read = read_flight_dumps({folder.path.string()}, {});
  CHECK(read.value().dumps.size() == 1);
  REQUIRE(read.value().problems.size() == 1);
  CHECK(read.value().problems.front().find("a second dump of rank 0") != std::string::npos);
}
