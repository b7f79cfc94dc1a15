#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "workplace.h"

using namespace skewscope::test;

TEST_CASE("report writes a whole directory and prints its summary") {
  const Outcome r = place().run("report traces -o whole");
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK(r.out == place().read("whole/summary.txt"));
  CHECK(says(r.out, "Rank 2 causes"));
  for (const char* name : {"COMPLETE", "report.json", "report.sqlite", "diagnostics.json", "tables/ranks.csv"}) {
    INFO(name);
    CHECK(place().has(std::string("whole/") + name));
  }
  const auto json = nlohmann::json::parse(place().read("whole/report.json"));
  CHECK(json["command"] == "skewscope report traces -o whole");
  CHECK(json["stragglers"][0]["rank"] == 2);
}

TEST_CASE("report counts and names the ranks that --world-size says are missing") {
  REQUIRE(place().run("report traces -o told --world-size 6 -f json").code == 0);
  const auto told = nlohmann::json::parse(place().read("told/report.json"))["job"];
  CHECK(told["world_size"] == 6);
  CHECK(told["ranks_missing"] == nlohmann::json({4, 5}));
  CHECK(place().run("report traces -o strict --world-size 6 --strict").code == 4);
  REQUIRE(place().run("report traces -o fewer --world-size 2 --strict -f json").code == 0);
  CHECK(nlohmann::json::parse(place().read("fewer/report.json"))["job"]["world_size"] == 4);
  CHECK(place().run("report traces --world-size 0").code == 2);
}

TEST_CASE("report.json of a simulated job follows the schema") {
  if (std::system("python3 -c 'import jsonschema' 2>/dev/null") != 0) {
    WARN("skipped: no python3-jsonschema");
    return;
  }
  REQUIRE(place().run("report traces -o schema -f json").code == 0);
  const std::string validate =
      "python3 -c 'import json, sys, jsonschema; jsonschema.Draft7Validator(json.load(open(sys.argv[1])))"
      ".validate(json.load(open(sys.argv[2])))' " SKEWSCOPE_SOURCE_DIR "/configs/report.schema.json " +
      (place() / "schema/report.json");
  CHECK(std::system(validate.c_str()) == 0);
}

TEST_CASE("with --json the report goes to standard output and nothing else is written") {
  const Outcome r = place().run("report traces --json");
  CHECK(r.code == 0);
  CHECK(r.err == "");
  CHECK(nlohmann::json::parse(r.out)["schema"] == "skewscope.report/1");
  CHECK_FALSE(place().has("skewscope-report"));
}

TEST_CASE("without -o the report goes to skewscope-report, and replaces the program's own earlier report") {
  CHECK(place().run("report traces -q -f json,csv").code == 0);
  CHECK(place().has("skewscope-report/tables/ranks.csv"));
  const Outcome again = place().run("report traces -f json");
  CHECK(again.code == 0);
  CHECK(says(again.out, "Rank 2"));
  CHECK_FALSE(place().has("skewscope-report/tables"));
  CHECK(says(place().run("report nowhere").err, "nowhere"));
  fs::remove_all(place() / "skewscope-report");
}

TEST_CASE("a folder that is no report of the program's, or not only that, is never replaced") {
  fs::create_directory(place() / "mine");
  std::ofstream(place() / "mine/notes.txt") << "keep";
  for (const char* flags : {"", " --force"}) {
    const Outcome r = place().run(std::string("report traces -o mine") + flags);
    CHECK(r.code == 5);
    CHECK(says(r.err, "mine: exists and is no report of skewscope"));
  }
  REQUIRE(place().run("report traces -q -o ours").code == 0);
  std::ofstream(place() / "ours/notes.txt") << "keep";
  CHECK(says(place().run("report traces -o ours").err, "ours: holds 'notes.txt'"));
  fs::remove(place() / "ours/notes.txt");
  fs::remove(place() / "ours/COMPLETE");
  CHECK(says(place().run("report traces -o ours").err, "not whole"));
  CHECK(place().run("report traces -q -o ours --force").code == 0);
  CHECK(place().read("mine/notes.txt") == "keep");
}

TEST_CASE("what cannot be understood ends the program with 2 before any work") {
  for (const char* arguments :
       {"", "frobnicate", "report", "report traces --no-such-flag", "report traces --align maybe",
        "report traces --ranks 3-1", "report traces --steps 9", "report traces --memory-limit lots",
        "report traces --fail-on 'wait_shar>1' -o usage", "report traces -f xml -o usage", "report traces -j 0",
        "report traces --config none.toml", "report traces --rank-regex '(' -o usage"}) {
    const Outcome r = place().run(arguments);
    INFO(arguments);
    CHECK(r.code == 2);
    CHECK(r.out == "");
    CHECK(r.err != "");
    CHECK_FALSE(place().has("usage"));
  }
}

TEST_CASE("a command that there is not is named") {
  const Outcome r = place().run("reprot traces");
  CHECK(r.code == 2);
  CHECK(says(r.err, "skewscope: error: no command is called reprot"));
  CHECK(says(place().run("--config none.toml reprot").err, "no command is called reprot"));
}

TEST_CASE("a word that an option does not know is answered with the words it knows") {
  const Outcome r = place().run("report traces --align foo -o usage");
  CHECK(r.code == 2);
  CHECK(says(r.err, "--align: 'foo' is none of auto|collectives|wallclock|none\n"));
  CHECK(says(place().run("simulate -o usage --vendor foo").err, "'foo' is none of nvidia|amd|cpu\n"));
  CHECK_FALSE(place().has("usage"));
}

TEST_CASE(
    "another profiler's trace ends every command with 3, named and with the next step, not as a job without work") {
  fs::create_directory(place() / "xla");
  std::ofstream(place() / "xla/host.trace.json")
      << R"({"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[)"
      << R"({"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:GPU:0"}},)"
      << R"({"ph":"X","pid":3,"tid":1,"ts":1000.5,"dur":20.25,"name":"all-reduce.1","args":{}},{}]})";
  for (const char* command : {"report xla -o none", "rank xla/host.trace.json", "inspect xla", "scale xla xla",
                              "compare xla xla", "merge xla -o none.json.gz"}) {
    INFO(command);
    const Outcome r = place().run(command);
    CHECK(r.code == 3);
    CHECK(says(r.err, "a profile of JAX or TensorFlow (XLA)"));
    CHECK(says(r.err, ".xplane.pb"));
  }
  CHECK(place().run("digest xla -o xla-digests").code == 3);
}

TEST_CASE("no usable input ends the program with 3") {
  std::ofstream(place() / "text.json") << "not a trace";
  fs::create_directory(place() / "nothing");
  CHECK(place().run("report text.json -o none").code == 3);
  CHECK(place().run("report nothing -o none").code == 3);
  CHECK(place().run("report missing -o none").code == 3);
  CHECK_FALSE(place().has("none"));
}

TEST_CASE("a missing rank is reported, and ends the program with 4 only under --strict") {
  CHECK(place().run("report traces --ranks 0-2 -o part1").code == 0);
  const Outcome strict = place().run("report traces --ranks 0-2 -o part2 --strict");
  CHECK(strict.code == 4);
  CHECK(place().has("part2/COMPLETE"));
  const auto json = nlohmann::json::parse(place().read("part2/report.json"));
  CHECK(json["job"]["ranks_present"] == std::vector<int>{0, 1, 2});
  CHECK(place().run("report traces --json --strict").code == 0);
}

TEST_CASE("output that cannot be written ends the program with 5") {
  CHECK(place().run("report traces -o traces --force").code == 5);
  CHECK(place().run("report traces -o /proc/no/where").code == 5);
  CHECK(place().run("inspect traces --json > /dev/full 2> /dev/null; exit $?").code == 5);
}

TEST_CASE("a memory limit that is too small ends the program with 6") {
  CHECK(place().run("report traces -o small --memory-limit 10K --cache off").code == 6);
  CHECK_FALSE(place().has("small"));
}

TEST_CASE("where the machine's memory ends, the program says so and ends with 6") {
  fs::create_directory(place() / "large");
  std::ofstream trace(place() / "large/rank0.json");
  trace << R"({"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [)";
  for (int i = 0; i < 150'000; ++i) {
    trace << (i > 0 ? "," : "") << R"({"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "name": ")"
          << "a name that no other kernel of this trace has, so that each must be kept: " << i << "\"}\n";
  }
  trace << "]}" << std::flush;
  int stopped = 0;
  for (int megabytes = 80; megabytes <= 200; megabytes += 8) {
    const std::string limit = "prlimit --as=" + std::to_string(megabytes) + "000000";
    const Outcome r = place().run("digest large --threads 1 --quiet --force -o of_large", limit);
    INFO(limit << ": " << r.err);
    CHECK((r.code == 0 || r.code == 6));
    if (r.code != 0) CHECK(says(r.err, "skewscope: error: out of memory; try"));
    stopped += r.code == 6 ? 1 : 0;
  }
  CHECK(stopped > 4);
}

TEST_CASE("where no thread can be started, the program says so and ends with 6") {
  const Outcome r = place().run("inspect traces", "prlimit --stack=4000000000 --as=2000000000");
  CHECK(r.code == 6);
  CHECK(says(r.err, "skewscope: error: no more threads can be started (limits of memory or processes); try --thread"));
}

TEST_CASE("a signal ends the program with 128 and its number, and leaves nothing behind") {
  const std::string long_work = "simulate -o huge --steps 1000000 --layers 64 --nodes 2";
  CHECK(place().run(long_work, "timeout --preserve-status -k 20 -s TERM 0.5").code == 143);
  CHECK(place().run(long_work, "timeout --preserve-status -k 20 -s INT 0.5").code == 130);
  CHECK_FALSE(place().has("huge"));
  CHECK_FALSE(place().has("huge.partial"));
}

TEST_CASE("a configuration file holds flags, the command line wins, and an unknown key is an error") {
  std::ofstream(place() / "good.toml") << "format = [\"csv\"]\noutput = \"from-file\"\n[report]\nquiet = true\n"
                                       << "[inspect]\njson = true\n";
  const Outcome r = place().run("report traces --config good.toml -o from-line");
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK(r.out == "");
  CHECK(place().has("from-line/tables/ranks.csv"));
  CHECK_FALSE(place().has("from-line/report.json"));
  CHECK_FALSE(place().has("from-file"));
  std::ofstream(place() / "bad.toml") << "formt = \"csv\"\n";
  CHECK(place().run("report traces --config bad.toml -o never").code == 2);
}

TEST_CASE("a configuration file is TOML 1.0: a string may hold #, a number _") {
  std::ofstream(place() / "signs.toml") << "output = \"a#b\"  # not \"c\"\n[report]\nquiet = true\nthreads = 1_0\n";
  const Outcome r = place().run("report traces --config signs.toml");
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK(place().has("a#b/report.json"));
}

TEST_CASE("what is wrong in a configuration file is told by file, line and key") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> texts = {
      {"threads = 1\nquiet = true\nthreads = 2\n", {"wrong.toml:3: ", "threads"}},
      {"threads = 1\n\n[report]\nthreads = 2\n", {"wrong.toml:4: ", "threads", "line 1"}},
      {"o = \"x\"\noutput = \"x\"\n", {"wrong.toml:2: ", "output", "line 1"}},
      {"quiet = true\noutput = \"x\n", {"wrong.toml:2: "}},
      {"quiet = true\n[report]\nthread = 2\n", {"wrong.toml:3: ", "'thread' is no flag of report"}},
      {"threads = 2026-01-01\n", {"wrong.toml:1: ", "threads"}},
      {"output = never\n", {"wrong.toml:1: "}},
  };
  for (const auto& [text, parts] : texts) {
    std::ofstream(place() / "wrong.toml") << text;
    const Outcome r = place().run("report traces --config wrong.toml");
    INFO(text << r.err);
    CHECK(r.code == 2);
    for (const std::string& part : parts) CHECK(r.err.find(part) != std::string::npos);
  }
  CHECK_FALSE(place().has("x"));
}

TEST_CASE("inspect names every file's rank, and as JSON, too") {
  const Outcome table = place().run("inspect traces");
  CHECK(table.code == 0);
  CHECK(says(table.out, "4 files; 4 of 4 ranks"));
  const auto json = nlohmann::json::parse(place().run("inspect traces --json").out);
  REQUIRE(json["files"].size() == 4);
  CHECK(json["files"][3]["rank"] == 3);
  CHECK(json["files"][3]["world_size"] == 4);
  CHECK(json["files"][3]["steps"].size() == 3);
}

TEST_CASE("several jobs in one folder are listed with the way to each, and end the program with 3") {
  REQUIRE(place().run("simulate -o jobs/small --nodes 1 --gpus 2 --tp 2 --steps 2 --layers 2 --cpu-rows 0").code == 0);
  REQUIRE(place().run("simulate -o jobs/large --nodes 1 --gpus 4 --tp 2 --steps 2 --layers 2 --cpu-rows 0").code == 0);
  const Outcome list = place().run("report jobs -o jobs_report");
  CHECK(list.code == 3);
  CHECK(says(list.out, "\nsmall  2      2 of 2 "));
  CHECK(says(list.out, "\nlarge  4      4 of 4 "));
  CHECK(says(list.err, "2 jobs here (large, small): choose one with --job NAME"));
  CHECK_FALSE(place().has("jobs_report"));

  const Outcome json = place().run("report jobs --json");
  CHECK(json.code == 3);
  const auto found = nlohmann::json::parse(json.out)["jobs_found"];
  REQUIRE(found.size() == 2);
  CHECK(found[0]["name"] == "large");
  CHECK(found[0]["ranks"] == nlohmann::json({0, 1, 2, 3}));
  CHECK(found[1]["reported"] == false);

  const auto one = nlohmann::json::parse(place().run("report jobs --json --job small").out);
  CHECK(one["job"]["name"] == "small");
  CHECK(one["job"]["world_size"] == 2);
  CHECK(one["jobs_found"][1]["reported"] == true);
  CHECK(place().run("report jobs --job none -o jobs_report").code == 2);
  const auto named = nlohmann::json::parse(place().run("report traces --json --job mine").out);
  CHECK(named["job"]["name"] == "mine");
  CHECK(named["jobs_found"][0]["name"] == "mine");

  CHECK(says(place().run("inspect jobs").out, "6 files; 2 jobs, of which --job names one"));
  CHECK(nlohmann::json::parse(place().run("inspect jobs --json").out)["files"][0]["job"] == "large");
  for (const char* command : {"merge jobs -o jobs.pftrace", "compare jobs traces", "scale jobs traces", "rank jobs"}) {
    const Outcome r = place().run(command);
    INFO(command);
    CHECK(r.code == 3);
    CHECK(says(r.err, "choose one with --job NAME"));
  }
  CHECK(place().run("merge jobs -o jobs.pftrace --job large").code == 0);
  CHECK(place().run("rank jobs --job large --ranks 3").code == 0);
}

TEST_CASE("inspect shows no control characters of a trace to the terminal") {
  fs::create_directory(place() / "hostile");
  std::ofstream(place() / "hostile/rank0.json")
      << R"({"distributedInfo": {"rank": 0, "world_size": 1}, "host_name": "\u001b]0;pwned\u0007", "traceEvents": [)"
      << R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]})";
  const Outcome r = place().run("inspect hostile");
  CHECK(r.code == 0);
  CHECK(says(r.out, "?]0;pwned?"));
  CHECK_FALSE(says(r.out, "\x1b"));
}

TEST_CASE("colours are for terminals, or when asked for") {
  CHECK_FALSE(says(place().run("report traces -o c1").out, "\x1b["));
  CHECK(says(place().run("report traces -o c2 --color always").out, "\x1b["));
}

TEST_CASE("timings and log go to standard error") {
  const Outcome r = place().run("report traces --json --timings");
  CHECK(says(r.err, "ingest"));
  CHECK(r.out.front() == '{');
}

TEST_CASE("inspect names the common directory once, and as JSON whole paths") {
  const Outcome table = place().run("inspect traces");
  CHECK(table.out.rfind("Files in traces, all kineto json", 0) == 0);
  CHECK_FALSE(says(table.out, "traces/"));
  std::istringstream lines(table.out);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
  const auto json = nlohmann::json::parse(place().run("inspect traces --json").out);
  CHECK(json["files"][0]["file"].get<std::string>().rfind("traces/", 0) == 0);
}

TEST_CASE("inspect shows the world size that a file itself states, else the job's") {
  const auto write = [](const std::string& path, const std::string& distributed) {
    std::ofstream(place() / path) << "{" << distributed << R"("traceEvents": [{"ph": "X", "cat": "kernel", )"
                                  << R"("name": "k", "pid": 0, "tid": 7, "ts": 10, "dur": 5, "args": {"device": 0, )"
                                  << R"("stream": 7, "correlation": 1}}]})";
  };
  fs::create_directories(place() / "worlds/sub");
  write("worlds/a.json", R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 4}, )");
  write("worlds/b.json", R"("distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 4}, )");
  write("worlds/rank2.json", "");
  write("worlds/sub/c.json", R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 16}, )");
  const auto json = nlohmann::json::parse(place().run("inspect worlds --json").out);
  REQUIRE(json["files"].size() == 4);
  CHECK(json["files"][0]["world_size"] == 4);
  CHECK(json["files"][2]["world_size"] == 4);
  CHECK(json["files"][3]["world_size"] == 16);
  const Outcome table = place().run("inspect worlds");
  CHECK(says(table.out, "Files in worlds, all kineto json\nFILE "));
  CHECK(says(table.out, "\nsub/c.json  sub     3     16 "));
  CHECK(says(table.out, "4 files; 2 jobs, of which --job names one\n"));
  std::ofstream(place() / "worlds/text.json") << "not a trace";
  CHECK(says(place().run("inspect worlds").out, "\nsub/c.json  kineto json"));
}

TEST_CASE("digest makes a digest per trace, says what was saved, and report takes the digests for the traces") {
  const Outcome made = place().run("digest traces -o digests");
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK(says(made.out, "4 digests in digests: "));
  CHECK(place().has("digests/rank3_trace.json.digest"));
  const Outcome from_digests = place().run("report digests --json"), from_traces = place().run("report traces --json");
  CHECK(from_digests.code == 0);
  auto a = nlohmann::json::parse(from_digests.out), b = nlohmann::json::parse(from_traces.out);
  for (auto* report : {&a, &b}) {
    report->erase("command");
    report->erase("created_utc");
  }
  CHECK(a == b);
  CHECK(place().run("digest traces -o digests").code == 5);
  CHECK(place().run("digest traces -o digests --force").code == 0);
  CHECK(nlohmann::json::parse(place().run("digest traces -o more --json").out).at("traces") == 4);
}

TEST_CASE("digest of nothing but foreign files says what the first of them is") {
  std::filesystem::create_directories(place() / "foreign");
  std::ofstream(place() / "foreign/a.nsys-rep") << "QDREP and what nobody else reads";
  const Outcome made = place().run("digest foreign/a.nsys-rep -o foreign_digests");
  CHECK(made.code == 3);
  CHECK(says(made.out, "1 digest in foreign_digests: "));
  CHECK(says(made.out, "1 of the files is no rank's trace; reports say so"));
  CHECK(says(made.err, "a.nsys-rep: a report of Nsight Systems"));
}

TEST_CASE("report keeps digests in the user's cache folder, somewhere else, or not at all") {
  const std::string cache = place() / ".cache/skewscope";
  fs::remove_all(cache);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // what changed just now is not kept
  CHECK(place().run("report traces --json --cache off").code == 0);
  CHECK_FALSE(fs::exists(cache));
  CHECK(place().run("report traces --json --cache elsewhere").code == 0);
  CHECK(std::distance(fs::directory_iterator(place() / "elsewhere"), fs::directory_iterator()) == 4);
  CHECK_FALSE(fs::exists(cache));
  CHECK(place().run("report traces --json").code == 0);
  CHECK(std::distance(fs::directory_iterator(cache), fs::directory_iterator()) == 4);
}

TEST_CASE("inspect tells a problem of several files once, in lines of a terminal's width") {
  fs::create_directory(place() / "alike");
  for (const char* rank : {"0", "1", "2"}) {
    std::ofstream(place() / ("alike/rank" + std::string(rank) + ".json"))
        << R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10.5, "dur": 5.5,)"
        << R"( "args": {"device": 0, "stream": 7, "correlation": 3}}]})";
  }
  const Outcome r = place().run("inspect alike");
  CHECK(says(r.out, "rank0.json and 2 more:\n  GPU rows were launched before recording started"));
  CHECK_FALSE(says(r.out, "rank1.json:"));
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}

TEST_CASE("digest and report refuse a merged trace for the same reason, with the next step") {
  fs::create_directory(place() / "merged");
  std::ofstream(place() / "merged/all.json")
      << R"({"traceEvents": [{"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "[Rank 0] GPU"}},)"
      << R"({"ph": "M", "name": "process_labels", "pid": 2, "args": {"labels": "[Rank 1] GPU"}},)"
      << R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10.5, "dur": 5.5,)"
      << R"( "args": {"device": 0, "stream": 7, "correlation": 3}}]})";
  const std::string reason = "all.json: several ranks merged into one file; left out: name the ranks' own files";
  const Outcome report = place().run("report merged -o refused"), digest = place().run("digest merged -o refused");
  CHECK(report.code == 3);
  CHECK(says(report.err, reason));
  CHECK_FALSE(says(report.err, "among"));
  CHECK(digest.code == 3);
  CHECK(says(digest.err, reason));
}

TEST_CASE(
    "a table of kernels is taken by --kernels and by the file of --config, and one without sense is a usage error") {
  std::ofstream(place() / "none.json") << R"({"kernels": [{"functions": ["nccl*"], "kind": "none"}]})";
  std::ofstream(place() / "kernels.toml") << "kernels = \"none.json\"\n";
  std::ofstream(place() / "odd.json") << R"({"kernels": [{"functions": ["nccl*"], "kind": "sum"}]})";
  for (const char* told : {"--kernels none.json", "--config kernels.toml"}) {
    const auto json = nlohmann::json::parse(place().run(std::string("report traces --json ") + told).out);
    CHECK(json["matching"]["calls"] == 0);
  }
  CHECK(nlohmann::json::parse(place().run("report traces --json").out)["matching"]["calls"] > 0);
  const Outcome r = place().run("report traces --kernels odd.json");
  CHECK(r.code == 2);
  CHECK(says(r.err, "odd.json: entry 1 has no"));
  CHECK(place().run("report traces --kernels nowhere.json").code == 2);
}
