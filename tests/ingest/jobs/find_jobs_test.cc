// Which files of a folder are one job, by evidence that is written by hand.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "src/ingest/jobs/choose_job.h"
#include "src/ingest/jobs/find_jobs.h"
#include "src/ingest/read_files.h"
#include "src/ingest/usable_files.h"
#include "tests/ingest/content_builder.h"
#include "tests/temporary_folder.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr int64_t kMinute_us = 60'000'000, kDay_us = 1440 * kMinute_us;

struct Recorded {
  std::string file;
  int64_t rank = 0, world = 4;  // world -1: not stated
  int64_t start_us = 0;
  int64_t first_step = 10;  // of three; -1: none recorded
  std::string host = "", device = "", program = "model";
  int64_t duration_us = 300;
  int64_t process = -1;
};

TraceFile linked(const Recorded& trace) {
  ContentBuilder b(trace.file);
  if (trace.world >= 0) b.distributed(trace.rank, trace.world);
  b.content().host_name = trace.host;
  b.content().process_id = trace.process;
  for (const char* kernel : {"_gemm", "_norm", "_softmax", "_loss", "_optimizer"}) {
    for (int64_t i = 0; i < 3; ++i)
      b.kernel(trace.program + kernel, trace.start_us + 100 * i, trace.duration_us / 3, i);
  }
  for (int64_t i = 0; i < 3 && trace.first_step >= 0; ++i) {
    b.step(trace.first_step + i, trace.start_us + 100 * i, trace.duration_us / 3);
  }
  TraceFile file = link_file(std::move(b.content()));
  file.linked.trace.device_name = trace.device;
  return file;
}

struct Sorted {
  std::vector<TraceFile> files;
  FoundJobs found;

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const JobFiles& job : found.jobs) names.push_back(job.job.name);
    return names;
  }
  Result<size_t> choose(const std::string& name = "") const { return choose_job(files, found.jobs, name); }
};

Sorted sort_out(std::vector<Recorded> traces, const std::string& rank_map = "") {
  std::sort(traces.begin(), traces.end(), [](const Recorded& a, const Recorded& b) { return a.file < b.file; });
  Sorted sorted;
  for (const Recorded& trace : traces) sorted.files.push_back(linked(trace));
  mark_usable(sorted.files);
  const auto overrides = RankOverrides::make(rank_map, "");
  REQUIRE(overrides.ok());
  sorted.found = find_jobs(sorted.files, overrides.value(), false);
  name_jobs(sorted.files, sorted.found.jobs);
  return sorted;
}

// Ranks `first` to `last` - 1, each named `before`, rank, `after`.
void add(std::vector<Recorded>& traces, const std::string& before, const std::string& after, int64_t first,
         int64_t last, Recorded like) {
  for (int64_t rank = first; rank < last; ++rank) {
    like.file = before + std::to_string(rank) + after;
    like.rank = rank;
    traces.push_back(like);
  }
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("two engines that write side by side are two jobs, by what their names differ in") {
  std::vector<Recorded> traces;
  for (const std::string dp : {"0", "1"}) {
    for (int64_t rank = 0; rank < 2; ++rank) {
      const std::string r = std::to_string(rank);
      const int64_t start_us = dp == "0" ? 0 : 40;
      traces.push_back({"/t/dp" + dp + "_pp0_tp" + r + "_rank" + r + ".175200000000" + dp + r + ".pt.trace.json", rank,
                        2, start_us, -1});
    }
  }
  const Sorted sorted = sort_out(traces);
  REQUIRE(sorted.names() == Names{"dp0", "dp1"});
  CHECK(sorted.found.jobs[0].rows == std::vector<size_t>{0, 1});
  CHECK(sorted.found.jobs[1].rows == std::vector<size_t>{2, 3});
  CHECK(sorted.found.jobs[1].job.world_size == 2);
  const auto none = sorted.choose();
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().kind == ErrorKind::no_input);
  CHECK(none.error().message ==
        "2 jobs here (dp0, dp1): choose one with --job NAME: skewscope report /t --job dp0; skewscope report /t --job "
        "dp1");
  CHECK(sorted.choose("dp1").value() == 1);
  CHECK(sorted.choose("dp2").error().kind == ErrorKind::usage);
}

TEST_CASE("what a rerun did not overwrite of an earlier, larger run is left over") {
  std::vector<Recorded> traces;
  add(traces, "/t/rank", ".json", 0, 4, {"", 0, 4, kDay_us});
  add(traces, "/t/rank", ".json", 4, 8, {"", 0, 8, 0});
  const Sorted sorted = sort_out(traces);
  REQUIRE(sorted.found.jobs.size() == 2);
  const JobFiles &old = sorted.found.jobs[0], &whole = sorted.found.jobs[1];
  CHECK(old.job.ranks == std::vector<int32_t>{4, 5, 6, 7});
  CHECK(whole.job.ranks == std::vector<int32_t>{0, 1, 2, 3});
  CHECK(sorted.choose().value() == 1);
  CHECK(sorted.choose(old.job.name).value() == 0);
  const Finding finding = not_reported(sorted.files, whole, old);
  CHECK(finding.severity == Severity::warning);
  CHECK(finding.message.find("(skewscope report /t --job " + old.job.name + ")") != std::string::npos);
  CHECK(finding.message.find("4-7 of a world of 8, recorded 24 h earlier") != std::string::npos);
}

TEST_CASE("the only whole run is chosen, whenever parts of another that lie beside it were recorded") {
  const auto jobs = [](int64_t ranks, int64_t start_us, const std::string& folder) {
    std::vector<Recorded> traces;
    add(traces, "/t/rank", ".json", 0, ranks, {"", 0, 4, start_us});
    add(traces, folder + "/rank", ".json", 4, 8, {"", 0, 8, kDay_us});
    return sort_out(traces);
  };
  for (const Sorted& sorted : {jobs(4, 2 * kDay_us, "/t"), jobs(4, 0, "/t")}) {
    REQUIRE(sorted.choose().ok());
    CHECK(sorted.found.jobs[sorted.choose().value()].job.world_size == 4);
  }
  for (const Sorted& sorted : {jobs(3, 2 * kDay_us, "/t"), jobs(4, 2 * kDay_us, "/t/old")}) {
    CHECK(sorted.found.jobs.size() == 2);
    CHECK_FALSE(sorted.choose().ok());
  }
}

TEST_CASE("hosts in the names of files divide no job, and hide not what does") {
  std::vector<Recorded> traces;
  for (const std::string engine : {"dp0", "dp1"}) {
    const int64_t start_us = engine == "dp0" ? 0 : 40;
    add(traces, "/t/" + engine + "_pp0_tp0_rank", "@alpha.json", 0, 1, {"", 0, 2, start_us, -1});
    add(traces, "/t/" + engine + "_pp0_tp0_rank", "@beta.json", 1, 2, {"", 0, 2, start_us, -1});
  }
  const Sorted sorted = sort_out(traces);
  REQUIRE(sorted.names() == Names{"dp0", "dp1"});
  CHECK(sorted.found.jobs[0].rows.size() == 2);
  CHECK(sorted.found.jobs[1].rows.size() == 2);
}

TEST_CASE("a rank of one engine is no job with a rank of another, whether or not either is whole") {
  const auto name = [](int64_t dp, int64_t rank) {
    return "/t/dp" + std::to_string(dp) + "_pp0_tp" + std::to_string(rank) + "_rank" + std::to_string(rank) + ".json";
  };
  const Sorted mixed = sort_out({{name(0, 0), 0, 2}, {name(1, 1), 1, 2}});
  CHECK(mixed.names() == Names{"dp0", "dp1"});
  CHECK_FALSE(mixed.choose().ok());
  const Sorted one_whole = sort_out({{name(0, 0), 0, 2}, {name(0, 1), 1, 2}, {name(1, 0), 0, 2}});
  CHECK(one_whole.names() == Names{"dp0", "dp1"});
  CHECK(one_whole.choose().value() == 0);
  const Sorted one_world = sort_out({{name(0, 0), 0, 4}, {name(0, 1), 1, 4}, {name(1, 0), 2, 4}, {name(1, 1), 3, 4}});
  CHECK(one_world.found.jobs.size() == 1);
}

TEST_CASE("engines that were profiled one after the other are two jobs, too") {
  std::vector<Recorded> traces;
  add(traces, "/t/dp0_pp0_tp0_rank", ".json", 0, 1, {"", 0, 1, 0, -1});
  add(traces, "/t/dp1_pp0_tp0_rank", ".json", 0, 1, {"", 0, 1, 2'000'000, -1});
  CHECK(sort_out(traces).names() == Names{"dp0", "dp1"});
}

TEST_CASE("ranks of another program, minutes away, are of another run") {
  const auto jobs = [](const std::string& program, int64_t later_us) {
    std::vector<Recorded> traces;
    add(traces, "/t/rank", ".json", 0, 2, {"", 0, -1, later_us});
    add(traces, "/t/rank", ".json", 2, 4, {"", 0, -1, 0, 10, "", "", program});
    return sort_out(traces).found.jobs.size();
  };
  CHECK(jobs("other", 3 * kMinute_us) == 2);
  CHECK(jobs("model", 3 * kMinute_us) == 1);
  CHECK(jobs("other", kMinute_us / 6) == 1);
}

TEST_CASE("what a tool has written of a trace is a copy, and the trace is used") {
  std::vector<Recorded> traces;
  add(traces, "/t/rank", ".json", 0, 2, {"", 0, 2});
  traces.push_back({"/t/overlaid_critical_path_rank0.json", 0, 2});
  traces.push_back({"/t/rank0_with_counters.json", 0, 2});
  const Sorted sorted = sort_out(traces);
  REQUIRE(sorted.found.jobs.size() == 1);
  CHECK(sorted.found.jobs[0].rows == std::vector<size_t>{1, 3});
  REQUIRE(sorted.found.copies.size() == 2);
  for (const auto& [copy, original] : sorted.found.copies)
    CHECK(sorted.files[original].evidence.file == "/t/rank0.json");
}

TEST_CASE("a copy is told by its name where a tool left most of the trace out, and so is one that was unpacked") {
  std::vector<Recorded> traces;
  add(traces, "/t/rank", ".json.gz", 0, 2, {"", 0, 2});
  traces.push_back({"/t/rank1.json", 1, 2});
  traces.push_back({"/t/rank0_with_counters.json", 0, 2});
  Sorted sorted = sort_out(traces);
  REQUIRE(sorted.found.copies.size() == 2);
  CHECK(sorted.files[sorted.found.jobs.at(0).rows[0]].evidence.file == "/t/rank0.json.gz");

  ContentBuilder critical("/t/overlaid_critical_path_rank0.json");  // one step of three, and of it one kernel
  critical.distributed(0, 2);
  critical.kernel("model_softmax", 100, 100, 1);
  critical.step(11, 100, 100);
  std::vector<TraceFile> files;
  files.push_back(link_file(std::move(critical.content())));
  files.push_back(linked({"/t/rank0.json", 0, 2}));
  files.push_back(linked({"/t/rank1.json", 1, 2}));
  mark_usable(files);
  const FoundJobs found = find_jobs(files, RankOverrides::make("", "").value(), false);
  REQUIRE(found.jobs.size() == 1);
  CHECK(found.copies == std::vector<std::pair<size_t, size_t>>{{0, 1}});
}

TEST_CASE("runs that begin with the same step in folders of their own are jobs, captures of one run are not") {
  const auto jobs = [](const std::string& first, const std::string& second, int64_t second_step) {
    std::vector<Recorded> traces;
    add(traces, first, ".json", 0, 4, {});
    add(traces, second, ".json", 0, 4, {"", 0, 4, kMinute_us, second_step});
    return sort_out(traces).names();
  };
  CHECK(jobs("/t/base/rank", "/t/slow/rank", 10) == Names{"base", "slow"});
  CHECK(jobs("/t/base/rank", "/t/slow/rank", 20).size() == 1);  // it goes on
  CHECK(jobs("/t/base/rank", "/t/slow/rank", -1) == Names{"base", "slow"});
  CHECK(jobs("/t/epoch_1/rank", "/t/epoch_2/rank", 10).size() == 1);
  CHECK(jobs("/t/1752000000.5/rank", "/t/1752000111.25/rank", -1).size() == 1);
  CHECK(jobs("/t/base_rank", "/t/slow_rank", 10) == Names{"base", "slow"});
  CHECK(jobs("/t/step_10_rank", "/t/step_20_rank", 10).size() == 1);
  CHECK(jobs("/t/a_step_10_rank", "/t/b_step_10_rank", 10) == Names{"a", "b"});
}

TEST_CASE("the process in the default name tells runs from captures") {
  const auto jobs = [](int64_t first_pid, int64_t second_pid) {
    std::vector<Recorded> traces;
    for (int64_t rank = 0; rank < 2; ++rank) {
      const auto file = [&](int64_t pid, const char* stamp) {
        return "/t/node_" + std::to_string(pid + rank) + "." + stamp + std::to_string(rank) + ".pt.trace.json";
      };
      traces.push_back({file(first_pid, "1752000000"), rank, 2, 0});
      traces.push_back({file(second_pid, "1752000900"), rank, 2, kMinute_us});
    }
    return sort_out(traces).found.jobs.size();
  };
  CHECK(jobs(4000, 4000) == 1);
  CHECK(jobs(4000, 5000) == 2);
}

TEST_CASE("one script, run twice into one folder, is two runs; of these the newest whole one is meant") {
  const auto runs = [](int64_t later_us, int64_t second_process, int64_t second_ranks) {
    std::vector<Recorded> traces;
    Recorded like{"", 0, 4, 0};
    like.process = 4000;
    add(traces, "/t/1752000000_rank", ".json", 0, 4, like);
    like.start_us = later_us;
    like.process = second_process;
    add(traces, "/t/1752000999_rank", ".json", 0, second_ranks, like);
    return sort_out(traces);
  };
  for (const int64_t later_us : {5 * kMinute_us, 10 * kMinute_us, 60 * kMinute_us, kDay_us}) {
    INFO(later_us);
    const Sorted both = runs(later_us, 5000, 4);
    REQUIRE(both.found.jobs.size() == 2);
    REQUIRE(both.choose().ok());
    CHECK(both.choose().value() == 1);
    CHECK(both.choose(both.names()[0]).value() == 0);
    const Finding finding = not_reported(both.files, both.found.jobs[1], both.found.jobs[0]);
    CHECK(finding.severity == Severity::warning);
    CHECK(finding.message.find("skewscope report /t --job " + both.names()[0]) != std::string::npos);
    const Sorted second_cut = runs(later_us, 5000, 3);  // it lacks a rank: the whole one is meant
    REQUIRE(second_cut.found.jobs.size() == 2);
    CHECK(second_cut.choose().value() == 0);
  }
  CHECK(runs(60 * kMinute_us, 4000, 4).found.jobs.size() == 1);  // captures of one process
  CHECK(runs(60 * kMinute_us, -1, 4).found.jobs.size() == 1);
}

TEST_CASE("of reruns none is meant unasked where their names, folders or worlds differ") {
  const auto choice = [](const std::string& second, int64_t world) {
    std::vector<Recorded> traces;
    Recorded like{"", 0, 4, 0};
    like.process = 4000;
    add(traces, "/t/base_rank", ".json", 0, 4, like);
    like = {"", 0, world, 60 * kMinute_us};
    like.process = 5000;
    add(traces, second, ".json", 0, world, like);
    const Sorted sorted = sort_out(traces);
    CHECK(sorted.found.jobs.size() == 2);
    return sorted.choose().ok();
  };
  CHECK_FALSE(choice("/t/slow_rank", 4));
  CHECK_FALSE(choice("/t/slow/base_rank", 4));
  CHECK_FALSE(choice("/t/base_rank0", 2));
}

TEST_CASE("two runs on hosts whose clocks differ by hours are two runs, the k-th trace of each rank") {
  std::vector<Recorded> traces;
  for (const int64_t run : {0, 1}) {
    for (const int64_t node : {0, 1}) {
      Recorded like{"", 0, 4, 60 * kMinute_us * run + 180 * kMinute_us * node, 10, node == 0 ? "a" : "b"};
      like.process = 4000 + 1000 * run;
      add(traces, "/t/rank", ".17520000" + std::to_string(1000 + 2 * run + node) + ".json", 2 * node, 2 * node + 2,
          like);
    }
  }
  const Sorted sorted = sort_out(traces);
  REQUIRE(sorted.found.jobs.size() == 2);
  for (const JobFiles& job : sorted.found.jobs) CHECK(job.job.ranks == std::vector<int32_t>{0, 1, 2, 3});
}

TEST_CASE("machines, programs and worlds tell runs of one rank apart") {
  const auto jobs = [](const Recorded& second) {
    std::vector<Recorded> traces;
    add(traces, "/t/1_rank", ".json", 0, 4, {"", 0, 4, 0, -1, "a", "V100", "model"});
    add(traces, "/t/2_rank", ".json", 0, second.world < 0 ? 4 : second.world, second);
    return sort_out(traces).found.jobs.size();
  };
  CHECK(jobs({"", 0, 4, kMinute_us, -1, "a", "V100", "model"}) == 1);
  CHECK(jobs({"", 0, 4, kMinute_us, -1, "b", "V100", "model"}) == 2);
  CHECK(jobs({"", 0, 4, kMinute_us, -1, "a", "H100", "model"}) == 2);
  CHECK(jobs({"", 0, 4, kMinute_us, -1, "a", "V100", "other"}) == 2);
  CHECK(jobs({"", 0, 2, kMinute_us, -1, "a", "V100", "model"}) == 2);
}

TEST_CASE("one job stays one: missing ranks, stages with programs of their own, a folder per node") {
  std::vector<Recorded> stages;
  for (int64_t rank = 0; rank < 4; ++rank) {
    const std::string r = std::to_string(rank);
    stages.push_back({"/t/rank" + r + ".json", rank, 8, 0, 10, "node" + r, "", "stage" + r});
  }
  CHECK(sort_out(stages).found.jobs.size() == 1);

  std::vector<Recorded> nodes;
  add(nodes, "/t/node0/rank", ".json", 0, 2, {});
  add(nodes, "/t/node1/rank", ".json", 2, 4, {});
  CHECK(sort_out(nodes).found.jobs.size() == 1);

  std::vector<Recorded> silent;
  add(silent, "/t/node0/trace_", ".json", 0, 3, {"", 0, -1});
  CHECK(sort_out(silent).found.jobs.size() == 1);
}

TEST_CASE("many captures of one job are one job, also where one has a broken stamp or lacks ranks") {
  std::vector<Recorded> traces;
  for (int64_t k = 0; k < 100; ++k) {
    add(traces, "/t/rank", ".17520000" + std::to_string(1000 + k) + ".pt.trace.json", k % 7 == 0 ? 1 : 0, 4,
        {"", 0, 4, 20 * k * kMinute_us, -1});
  }
  CHECK(sort_out(traces).found.jobs.size() == 1);
  Recorded& broken = traces[150];  // from the first capture to its own
  broken.duration_us = broken.start_us;
  broken.start_us = 5;
  CHECK(sort_out(traces).found.jobs.size() == 1);
}

TEST_CASE("two jobs that record by turns are two jobs, each of several captures") {
  std::vector<Recorded> traces;
  for (int64_t k = 0; k < 6; ++k) {
    const std::string stamp = ".17520000" + std::to_string(1000 + k) + ".pt.trace.json";
    add(traces, "/t/rank", stamp, 0, 2, {"", 0, 2, 20 * k * kMinute_us, -1, "", k % 2 == 0 ? "V100" : "H100"});
  }
  const Sorted sorted = sort_out(traces);
  REQUIRE(sorted.names() == Names{"job-1", "job-2"});
  CHECK(sorted.found.jobs[0].job.files == 6);
  CHECK(sorted.found.jobs[1].job.files == 6);
}

TEST_CASE("ranks recorded a day apart are two runs, unless steps go on or their hosts' clocks may differ") {
  const auto jobs = [](const std::string& host, const std::string& other_host, int64_t step) {
    std::vector<Recorded> traces;
    add(traces, "/t/rank", ".json", 0, 2, {"", 0, 4, kDay_us, step, host});
    add(traces, "/t/rank", ".json", 2, 4, {"", 0, 4, 0, 10, other_host});
    return sort_out(traces).found.jobs.size();
  };
  CHECK(jobs("", "", 10) == 2);
  CHECK(jobs("a", "a", 10) == 2);
  CHECK(jobs("a", "b", 10) == 1);
  CHECK(jobs("", "", 20) == 1);
}

TEST_CASE("ranks that one clock stamped a minute apart in the same steps share no call: each set lacks the other") {
  const auto sort = [](const std::string& host, const std::string& other_host, int64_t later_us, int64_t step) {
    std::vector<Recorded> traces;
    add(traces, "/t/rank", ".json", 0, 2, {"", 0, 4, 0, 10, host});
    add(traces, "/t/rank", ".json", 2, 4, {"", 0, 4, later_us, step, other_host});
    return sort_out(traces);
  };
  const Sorted mixed = sort("a", "a", 2 * kMinute_us, 10);
  REQUIRE(mixed.found.jobs.size() == 2);
  CHECK(mixed.found.jobs[0].job.ranks == std::vector<int32_t>{0, 1});
  CHECK_FALSE(mixed.choose().ok());
  CHECK(sort("", "", 9 * kMinute_us, 10).found.jobs.size() == 2);  // hosts not told
  CHECK(sort("", "", 2 * kMinute_us, 10).found.jobs.size() == 1);
  CHECK(sort("a", "a", 2 * kMinute_us, 20).found.jobs.size() == 1);  // it goes on
  CHECK(sort("a", "a", kMinute_us / 2, 10).found.jobs.size() == 1);
  CHECK(sort("a", "b", 180 * kMinute_us, 10).found.jobs.size() == 1);
}

TEST_CASE("who gives each file a rank says that they are one job") {
  const test::Folder folder("find_jobs_map");
  std::filesystem::create_directories(folder.path);
  const std::string map = (folder.path / "map.csv").string();
  std::ofstream(map) << "/t/a/rank0.json,0\n/t/a/rank1.json,1\n/t/b/rank0.json,2\n/t/b/rank1.json,3\n";
  std::vector<Recorded> traces;
  add(traces, "/t/a/rank", ".json", 0, 2, {"", 0, 2});
  add(traces, "/t/b/rank", ".json", 0, 2, {"", 0, 2, 40});
  CHECK(sort_out(traces).names() == Names{"a", "b"});
  CHECK(sort_out(traces, map).found.jobs.size() == 1);
}
