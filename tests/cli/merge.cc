// skewscope merge as its users call it. What it wrote is read back by a program that shares nothing with it.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "../real_trace_folder.h"
#include "workplace.h"

using namespace skewscope;
using skewscope::test::Outcome;
using skewscope::test::place;
using skewscope::test::says;
namespace fs = std::filesystem;

namespace {

const std::string kAll = " --categories gpu,launches,steps,annotations,operators";

// What a program of tests/cli says against these arguments; "" when all is well.
std::string said_by(const std::string& program, const std::string& arguments) {
  const std::string log = place() / "check_merged.log";
  const std::string check =
      "python3 " SKEWSCOPE_SOURCE_DIR "/tests/cli/" + program + " " + arguments + " > " + log + " 2>&1";
  const int status = std::system(check.c_str());
  const std::string said = place().read("check_merged.log");
  return status == 0 || !said.empty() ? said : "the check did not run";
}

std::string wrong_with(const std::string& merged, const std::string& report, const std::string& traces) {
  return said_by("check_merged.py", merged + " " + report + " " + traces);
}

std::string wrong_with_excerpts(const std::string& merged, const std::string& said, const std::string& report) {
  return said_by("check_excerpts.py", merged + " " + said + " " + report);
}

// Clocks that are 50 ms off and drift by up to 100 ppm, operators, one slow rank.
const std::string& two_hosts() {
  static const std::string folder = [] {
    const Outcome made = place().run(
        "simulate -o two_hosts --nodes 2 --gpus 2 --tp 2 --steps 5 --layers 2 --slow-rank 3:1.4 --clock-offset-ms 50 "
        "--clock-drift-ppm 100 --layer-compute-ns 10000000");
    const Outcome reported = place().run("report two_hosts -o two_hosts_report -q");
    return made.code == 0 && reported.code == 0 ? place() / "two_hosts" : "";
  }();
  return folder;
}

nlohmann::json manifest_of(const std::string& bundle) {
  const std::string list =
      "python3 -c 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None;"
      " print(z.read(\"manifest.json\").decode())' " +
      bundle + " > " + (place() / "manifest.json");
  REQUIRE(std::system(list.c_str()) == 0);
  return nlohmann::json::parse(place().read("manifest.json"));
}

}  // namespace

TEST_CASE("merge keeps every row of the traces, and times equal the report's, in both formats") {
  REQUIRE_FALSE(two_hosts().empty());
  for (const std::string name : {"all.json.gz", "all.pftrace"}) {
    INFO(name);
    const Outcome merged = place().run("merge two_hosts -o " + name + kAll);
    REQUIRE(merged.code == 0);
    CHECK(says(merged.out, "arrows between ranks"));
    CHECK(wrong_with(place() / name, place() / "two_hosts_report", two_hosts() + "/rank*_trace.json") == "");
  }
}

TEST_CASE("merge keeps every row of real traces, and times equal the report's") {
  const std::string traces = test::traces("dlrm_8rank");
  if (traces.empty()) return;
  REQUIRE(place().run("report " + traces + " -o dlrm_report -q").code == 0);
  for (const std::string name : {"dlrm.json.gz", "dlrm.pftrace"}) {
    INFO(name);
    REQUIRE(place().run("merge " + traces + " -o " + name + kAll).code == 0);
    CHECK(wrong_with(place() / name, place() / "dlrm_report", traces + "/*.gz") == "");
  }
}

TEST_CASE("a merged trace is equal for any number of threads") {
  REQUIRE_FALSE(two_hosts().empty());
  REQUIRE(place().run("merge two_hosts -o one.pftrace -j 1").code == 0);
  REQUIRE(place().run("merge two_hosts -o four.pftrace -j 4").code == 0);
  CHECK(place().read("one.pftrace") == place().read("four.pftrace"));
}

TEST_CASE("ranks, steps, categories and excerpts choose what is written, not what is analysed") {
  REQUIRE_FALSE(two_hosts().empty());
  const auto written = [](const std::string& arguments) {
    const Outcome merged = place().run("merge two_hosts -o chosen.pftrace --force --json " + arguments);
    REQUIRE(merged.code == 0);
    return nlohmann::json::parse(merged.out);
  };
  const auto all = written("");
  const auto rank = written("--ranks 3"), step = written("--steps 101:102"), steps = written("--categories steps");
  CHECK(rank.at("traces") == 1);
  CHECK(rank.at("events").at("gpu").get<int64_t>() * 4 == all.at("events").at("gpu").get<int64_t>());
  CHECK(step.at("events").at("gpu").get<int64_t>() * 5 == all.at("events").at("gpu").get<int64_t>());
  CHECK(step.at("events").at("steps") == 4);
  CHECK(steps.at("events").at("gpu") == 0);
  const auto excerpt = written("--excerpt 1");
  CHECK(excerpt.at("windows").size() == 1);
  CHECK(excerpt.at("events").at("gpu") < all.at("events").at("gpu"));
  CHECK(excerpt.at("events").at("gpu") > 0);
}

TEST_CASE("every finding with a place in time has an excerpt that holds its calls where the report puts them") {
  REQUIRE_FALSE(two_hosts().empty());
  for (const std::string name : {"findings.pftrace", "findings.json.gz"}) {
    INFO(name);
    const Outcome merged = place().run("merge two_hosts -o " + name + " --excerpt all --json");
    REQUIRE(merged.code == 0);
    std::ofstream(place() / "said.json") << merged.out;
    CHECK(wrong_with_excerpts(place() / name, place() / "said.json", place() / "two_hosts_report") == "");
  }
  const std::string traces = test::traces("sampled_2of128");
  if (traces.empty()) return;
  REQUIRE(place().run("report " + traces + " -o sampled_report -q").code == 0);
  const Outcome sampled = place().run("merge " + traces + " -o sampled.pftrace --excerpt all --json");
  REQUIRE(sampled.code == 0);
  std::ofstream(place() / "said.json") << sampled.out;
  CHECK(wrong_with_excerpts(place() / "sampled.pftrace", place() / "said.json", place() / "sampled_report") == "");
  std::set<std::string> findings;
  const auto said = nlohmann::json::parse(sampled.out);
  for (const auto& window : said.at("windows")) findings.insert(window.at("finding"));
  CHECK(findings == std::set<std::string>{"exposed-transfer", "incomplete-instances", "launch-bound", "straggler",
                                          "straggler-chain", "unmatched-alone", "worst-wait"});
}

TEST_CASE("stragglers are listed as the report orders them, whenever their moments were") {
  REQUIRE(place()
              .run("simulate -o two_slow --nodes 2 --gpus 4 --tp 4 --steps 3 --slow-rank 1:1.02 --slow-rank 6:1.2 -q")
              .code == 0);
  const Outcome merged = place().run("merge two_slow -o stragglers.json.gz --excerpt straggler --json");
  const Outcome reported = place().run("report two_slow --json -q");
  REQUIRE(merged.code == 0);
  REQUIRE(reported.code == 0);
  std::vector<std::string> listed, of_report;
  const auto windows = nlohmann::json::parse(merged.out).at("windows");
  for (const auto& window : windows) {
    const std::string words = window.at("words");  // "rank 6, slower kernels: ..."
    listed.push_back(words.substr(5, words.find(',') - 5));
  }
  const auto report = nlohmann::json::parse(reported.out);
  for (const auto& straggler : report.at("stragglers"))
    of_report.push_back(std::to_string(straggler.at("rank").get<int>()));
  of_report.resize(listed.size());
  CHECK(listed.size() == 3);
  CHECK(listed.front() == "6");
  CHECK(listed == of_report);
  CHECK(windows[0].at("from_ns") > windows[2].at("from_ns"));  // by time the last would be first
}

TEST_CASE("an excerpt is of the finding that is named, and one that the report has not is refused with those it has") {
  REQUIRE_FALSE(two_hosts().empty());
  const Outcome one = place().run("merge two_hosts -o one_finding.pftrace --excerpt straggler-chain --json");
  REQUIRE(one.code == 0);
  const auto windows = nlohmann::json::parse(one.out).at("windows");
  REQUIRE(windows.size() == 1);
  CHECK(windows[0].at("finding") == "straggler-chain");
  const Outcome none = place().run("merge two_hosts -o no_finding.pftrace --excerpt good-luck");
  CHECK(none.code == 2);
  CHECK(says(none.err, "straggler-chain"));
  CHECK(place().run("merge two_hosts -o no_finding.pftrace --excerpt 0").code == 2);
}

TEST_CASE("a bundle holds the traces byte for byte, and a manifest that moves them onto one clock") {
  REQUIRE_FALSE(two_hosts().empty());
  const Outcome merged = place().run("merge two_hosts -o job.zip");
  REQUIRE(merged.code == 0);
  CHECK(says(merged.out, "drift moves a trace"));
  const auto manifest = manifest_of(place() / "job.zip").at("perfetto_manifest");
  CHECK(manifest.at("version") == 1);
  const std::string compare =
      "python3 -c 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]);"
      " assert all(z.read(f\"rank{r}.json\") == open(f\"{sys.argv[2]}/rank{r}_trace.json\", \"rb\").read() for r in "
      "range(4));"
      " assert all(i.compress_type == zipfile.ZIP_STORED for i in z.infolist())' " +
      (place() / "job.zip") + " " + two_hosts();
  CHECK(std::system(compare.c_str()) == 0);
  // By the report: offset(reference) - offset(rank), but for the drift until the middle of the trace, and the bases.
  const auto report = nlohmann::json::parse(place().read("two_hosts_report/report.json"));
  REQUIRE(manifest.at("files").size() == 4);
  const nlohmann::json* reference = nullptr;
  for (const auto& file : manifest.at("files")) {
    if (!file.contains("clocks")) reference = &file;
  }
  REQUIRE(reference != nullptr);
  for (const auto& file : manifest.at("files")) {
    const auto& own = file.at("skewscope");
    CHECK(own.at("offset_ns") == report.at("clocks").at(own.at("rank").get<size_t>()).at("offset_ns"));
    if (&file == reference) continue;
    const auto& other = reference->at("skewscope");
    const int64_t by_report = other.at("offset_ns").get<int64_t>() - own.at("offset_ns").get<int64_t>() +
                              own.at("base_time_ns").get<int64_t>() - other.at("base_time_ns").get<int64_t>();
    const int64_t window_ns = report.at("job").at("window_ns").get<int64_t>();
    CHECK(std::abs(file.at("clocks").at("offset_ns").get<int64_t>() - by_report) <=
          window_ns / 10'000);  // half of 200 ppm
  }
}

TEST_CASE("a bundle copies the deflate stream of a gzip file and refuses what Perfetto cannot read") {
  REQUIRE(place().run("simulate -o zipped --nodes 1 --gpus 2 --tp 2 --steps 2 --layers 2 --compression gzip").code ==
          0);
  REQUIRE(place().run("merge zipped -o zipped.zip").code == 0);
  const std::string compare =
      "python3 -c 'import gzip, sys, zipfile; z = zipfile.ZipFile(sys.argv[1]);"
      " assert all(z.read(f\"rank{r}.json\") == gzip.open(f\"{sys.argv[2]}/rank{r}_trace.json.gz\").read() for r in "
      "range(2));"
      " assert z.getinfo(\"rank0.json\").compress_type == zipfile.ZIP_DEFLATED' " +
      (place() / "zipped.zip") + " " + (place() / "zipped");
  CHECK(std::system(compare.c_str()) == 0);
  REQUIRE(place().run("simulate -o zstd --nodes 1 --gpus 2 --tp 2 --steps 2 --layers 2 --compression zstd").code == 0);
  const Outcome refused = place().run("merge zstd -o zstd.zip");
  CHECK(refused.code == 3);
  CHECK(says(refused.err, ".pftrace"));
  CHECK_FALSE(place().has("zstd.zip"));
}

TEST_CASE("merge replaces a file only with --force, and refuses what it cannot write before it reads") {
  REQUIRE(place().run("merge traces -o kept.pftrace -q").code == 0);
  CHECK(place().run("merge traces -o kept.pftrace").code == 5);
  CHECK(place().run("merge traces -o kept.pftrace --force -q").code == 0);
  CHECK(place().run("merge traces -o trace.txt").code == 2);
  CHECK(place().run("merge traces -o job.zip --steps 1:2").code == 2);
  CHECK(place().run("merge traces -o x.pftrace --categories gpu,flows").code == 2);
  CHECK(place().run("merge traces -o x.pftrace --ranks 77").code == 3);
  CHECK(place().run("merge nothing -o x.pftrace").code == 3);
  CHECK(place().run("merge traces -o no/such/folder/x.pftrace -q").code == 0);
  CHECK_FALSE(place().has("x.pftrace"));
  for (const auto& entry : fs::directory_iterator(place() / "")) {
    CHECK_FALSE(says(entry.path().filename().string(), ".partial"));
  }
}

TEST_CASE("both formats say the same, and names of a trace stay text in them") {
  std::ofstream(place() / "hostile.json", std::ios::binary) << R"({"distributedInfo": {"rank": 0, "world_size": 1},
    "traceEvents": [
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 105.0, "dur": 5.0,
     "args": {"correlation": 9}},
    {"ph": "X", "cat": "kernel", "name": "</script>\"\\\u0001 )"
                                                               "\xFF"
                                                               R"(", "pid": 0, "tid": 7, "ts": 130.0, "dur": 4.0,
     "args": {"correlation": 9, "device": 0, "stream": 7}}]})";
  REQUIRE(place().run("merge hostile.json -o hostile.json.gz").code == 0);
  REQUIRE(place().run("merge hostile.json -o hostile.pftrace").code == 0);
  const std::string compare =
      "python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import check_merged as c;"
      " all = [[(s.track, s.name, s.start, s.end) for s in sorted(read(sys.argv[2] + end)[0], key=lambda s: s.start)]"
      "        for read, end in ((c.read_json, \".json.gz\"), (c.read_pftrace, \".pftrace\"))];"
      " names = [[row[1] for row in rows] for rows in all]; kernel = \"</script>\\\"\\\\\\x01 \\ufffd\";"
      " assert names[0] == names[1] == [\"launch \" + kernel, kernel], names;"
      " assert [row[2:] for row in all[0]] == [row[2:] for row in all[1]] == [(105000, 110000), (130000, 134000)], "
      "all' " SKEWSCOPE_SOURCE_DIR "/tests/cli " +
      (place() / "hostile");
  CHECK(std::system(compare.c_str()) == 0);
}

TEST_CASE("ranks whose clocks nobody compared are processes that say so, and so does the program") {
  REQUIRE(!two_hosts().empty());
  const Outcome merged = place().run("merge two_hosts -o apart.pftrace --align none");
  REQUIRE(merged.code == 0);
  CHECK(says(merged.out, "2 components of ranks, clocks not compared: their order in time means nothing"));
  const std::string trace = place().read("apart.pftrace");
  CHECK(says(trace, "component 1 of 2 (clocks not compared)"));
  CHECK(says(trace, "component 2 of 2 (clocks not compared)"));
  const Outcome said = place().run("merge two_hosts -o apart.pftrace --force --json --align none --excerpt 3");
  REQUIRE(said.code == 0);
  const auto json = nlohmann::json::parse(said.out);
  CHECK(json["components"] == 2);
  for (const auto& window : json["windows"]) CHECK(window["ranks"].size() == 2);
  const Outcome together = place().run("merge two_hosts -o together.pftrace");
  REQUIRE(together.code == 0);
  CHECK_FALSE(says(place().read("together.pftrace"), "clocks not compared"));
}
