#include "src/gather/history/history.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

using namespace skewscope;
using namespace skewscope::gather;
using skewscope::test::Folder;

namespace {

// Job `number` was made in hour `number`, on these nodes; `slow`: who was the cause, "" for nobody.
Run run_of(int number, const std::vector<std::string>& nodes, const std::string& slow, int device = 0) {
  Run run;
  run.job = "train-" + std::to_string(number);
  run.owner_uid = 1000;
  run.created = run.reported = Time(std::chrono::hours(number));
  run.verdict = "Fix first.";
  run.outcome.ranks = 8;
  run.outcome.gain = 0.1;
  run.outcome.hosts = nodes;
  if (!slow.empty()) run.outcome.causes = {{ReportOutcome::Part::gpu, slow, 1, device, 0.9, "slower_kernels"}};
  return run;
}

struct Kept {
  Folder folder{"history"};
  std::string path;
  std::unique_ptr<History> history;

  Kept() {
    std::filesystem::create_directories(folder.path);
    path = (folder.path / "history.sqlite").string();
    reopen();
  }
  void reopen() {
    history.reset();
    history = History::open(path);
  }
};

}  // namespace

TEST_CASE("a node counts in the last eight of its jobs, and has been the cause since it was it in half of them") {
  Kept kept;
  // Once by chance, then never, then in six of eight.
  const std::vector<bool> slow = {true, false, false, false, false, true, true, false, true, true, true, false, true};
  for (size_t i = 0; i < slow.size(); ++i) {
    const int number = static_cast<int>(i) + 1;
    kept.history->add(run_of(number, {"node3", "node" + std::to_string(10 + number)}, slow[i] ? "node3" : "", 5));
  }
  const std::vector<NodeRecord> nodes = kept.history->nodes(10);
  REQUIRE(nodes.size() == 1);
  CHECK(nodes[0].node == "node3");
  CHECK(nodes[0].recent == 8);
  CHECK(nodes[0].caused == 6);
  CHECK(nodes[0].caused_ever == 7);
  CHECK(nodes[0].since_job == "train-1");  // 7 of 13
  CHECK(nodes[0].last == Time(std::chrono::hours(13)));
  CHECK(nodes[0].devices == std::vector<int32_t>{5});
  CHECK(nodes[0].owners == std::vector<uint32_t>{1000});
  CHECK(nodes[0].jobs.front() == "train-13");
}

TEST_CASE("a node that was the cause long ago, or once, is not told of; who was it most often of late is first") {
  Kept kept;
  int number = 0;
  for (int i = 0; i < 3; ++i) kept.history->add(run_of(++number, {"old", "other"}, "old"));
  for (int i = 0; i < 8; ++i) kept.history->add(run_of(++number, {"old", "once"}, i == 0 ? "once" : ""));
  for (int i = 0; i < 8; ++i) kept.history->add(run_of(++number, {"often", "rare"}, i < 6 ? "often" : "rare"));
  const std::vector<NodeRecord> nodes = kept.history->nodes(10);
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0].node == "often");
  CHECK(nodes[0].caused == 6);
  CHECK(nodes[1].node == "rare");
  CHECK(kept.history->nodes(1).size() == 1);
}

TEST_CASE("a new report of a job replaces its row, and another job of that name is another run") {
  Kept kept;
  Run run = run_of(1, {"a", "b"}, "a");
  kept.history->add(run);
  run.reported += std::chrono::seconds(60);
  run.outcome.causes.clear();
  kept.history->add(run);
  CHECK(kept.history->has("train-1", run.created, run.reported));
  CHECK_FALSE(kept.history->has("train-1", run.created, run.reported + std::chrono::seconds(1)));
  REQUIRE(kept.history->runs_of("train", 10).size() == 1);
  CHECK(kept.history->runs_of("train", 10)[0].outcome.causes.empty());
  run.created += std::chrono::hours(2);
  kept.history->add(run);
  CHECK(kept.history->runs_of("train", 10).size() == 2);
  CHECK(kept.history->newest_of("train-1")->created == run.created);
  CHECK_FALSE(kept.history->newest_of("train-2"));
}

TEST_CASE("what was reported before is forgotten, and the rest outlives the daemon") {
  Kept kept;
  for (int number = 1; number <= 4; ++number) kept.history->add(run_of(number, {"a", "b"}, "a"));
  kept.history->forget(Time(std::chrono::hours(3)));
  kept.reopen();
  const std::vector<Run> runs = kept.history->runs_of("train", 10);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].job == "train-4");
  CHECK(runs[1].verdict == "Fix first.");
  REQUIRE(kept.history->nodes(10).size() == 1);
  CHECK(kept.history->nodes(10)[0].recent == 2);
}

TEST_CASE("a history that cannot be opened now is left as it is, and what comes is kept in memory") {
  const Folder folder("history_away");
  const auto history = History::open((folder.path / "no such folder" / "history.sqlite").string());
  history->add(run_of(1, {"a"}, ""));
  CHECK(history->runs_of("train", 10).size() == 1);
}

TEST_CASE("a history that is damaged, or another program's, is set aside and begun anew") {
  for (const std::string& content : {std::string("no database at all, but long enough to be looked at as one"),
                                     std::string("SQLite format 3\0 and then nothing", 33)}) {
    Kept kept;
    kept.history.reset();
    std::ofstream(kept.path, std::ios::binary | std::ios::trunc) << content;
    kept.reopen();
    kept.history->add(run_of(1, {"a"}, ""));
    CHECK(kept.history->runs_of("train", 10).size() == 1);
    CHECK(std::filesystem::exists(kept.path + ".damaged"));
  }
}
