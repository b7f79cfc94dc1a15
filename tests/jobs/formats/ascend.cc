// Jobs of Ascend NPUs, whose devices measure their own waiting: the split that comes of arrivals against it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <vector>

#include "skewscope/correlate.h"
#include "skewscope/report.h"
#include "skewscope/simulate.h"
#include "tests/real_trace_folder.h"
#include "tests/temporary_folder.h"

using namespace skewscope;

namespace {

JobReport ascend_report(const std::string& path) {
  StageTimer timer;
  Result<JobReport> report = correlate({path}, {}, timer);
  REQUIRE(report.ok());
  return std::move(report).value();
}

struct Differences {
  std::vector<int64_t> ns;

  int64_t median() {
    std::sort(ns.begin(), ns.end());
    return ns[(ns.size() - 1) / 2];
  }
  int64_t worst() const { return *std::max_element(ns.begin(), ns.end()); }
};

}  // namespace

TEST_CASE("four ranks of Ascend: 28 instances are matched, and calls in groups of one are alone") {
  const std::string path = test::formats("ascend/st_4rank_text");
  if (path.empty()) return;
  const JobReport r = ascend_report(path);
  REQUIRE(r.ranks.size() == 4);
  CHECK(r.job.world_size == 4);
  CHECK(r.matching.calls == 76);
  CHECK(r.matching.matched == 64);
  CHECK(r.matching.incomplete_instances == 0);
  std::map<int32_t, int> members;
  for (const auto& call : r.calls) ++members[call.instance];
  CHECK(members.size() == 28);
}

TEST_CASE("collectives of Ascend: the split's waiting is the device's to 4 us in the median, to 6 us at most") {
  const std::string path = test::formats("ascend/st_4rank_text");
  if (path.empty()) return;
  const JobReport r = ascend_report(path);
  Differences all, collectives, messages;
  for (const auto& call : r.calls) {
    if (call.measured_wait_ns < 0) continue;
    REQUIRE(call.wait_ns >= 0);
    const int64_t difference = std::abs(call.wait_ns - call.measured_wait_ns);
    all.ns.push_back(difference);
    (call.op == CollectiveKind::send_recv ? messages : collectives).ns.push_back(difference);
  }
  CAPTURE(all.median(), all.worst(), collectives.median(), collectives.worst(), messages.median(), messages.worst());
  REQUIRE(all.ns.size() == 36);
  CHECK(collectives.median() < 4'000);
  CHECK(collectives.worst() < 6'000);
  // A message: the device counts the 0.4 ms as well in which its peer copies 8 MB, which is transfer.
  CHECK(messages.worst() < 410'000);
  CHECK(messages.median() > 300'000);
}

TEST_CASE("two ranks of eight: waits are what msprof-analyze says of the two, and the devices tell of the others") {
  const std::string path = test::formats("ascend/level1_2rank_db");
  if (path.empty()) return;
  const JobReport r = ascend_report(path);
  REQUIRE(r.ranks.size() == 2);
  CHECK(r.matching.calls == 8);
  CHECK(r.matching.incomplete_instances == 4);
  // Rank 1 arrives 3532.6 us later on raw clocks and ends 15.5 us later: 3517 us on one clock.
  CHECK(static_cast<double>(r.ranks[0].wait_ns) == Approx(3'522'991).margin(20'000));
  CHECK(r.ranks[1].wait_ns < 20'000);
  // The rank that both waited for is the seventh, of which there is no trace: its signal came 88.42 ms after rank 0's
  // first call began, and the later calls waited for it again.
  const auto first_of = [&](int32_t rank) {
    return std::find_if(r.calls.begin(), r.calls.end(),
                        [&](const JobReport::CallRow& call) { return call.rank == rank; });
  };
  CHECK(static_cast<double>(first_of(0)->measured_wait_ns) == Approx(88'423'507).epsilon(0.01));
  CHECK(first_of(0)->measured_wait_ns - first_of(1)->measured_wait_ns > 3'400'000);
}

TEST_CASE("a simulated job's databases give the calls of its Kineto traces, and the waits that really happened") {
  SimulateOptions options;
  options.steps = 5;
  options.layers = 4;
  options.tp = options.pp = 2;
  options.micro_batches = 4;
  options.clock_offset_ms = 5;
  options.slow_ranks = {{5, 1.3}};
  const test::Folder kineto("ascend_kineto"), databases("ascend_databases");
  options.directory = kineto.path.string();
  REQUIRE(simulate_job(options).ok());
  const JobReport expected = ascend_report(options.directory);
  options.directory = databases.path.string();
  options.format = "ascend";
  REQUIRE(simulate_job(options).ok());
  const JobReport found = ascend_report(options.directory);
  CHECK(found.matching.calls == expected.matching.calls);
  CHECK(found.matching.matched == expected.matching.matched);
  CHECK(found.matching.incomplete_instances == 0);
  REQUIRE(found.calls.size() == expected.calls.size());
  Differences split;
  for (const auto& call : found.calls) {
    if (call.measured_wait_ns >= 0) split.ns.push_back(std::abs(call.wait_ns - call.measured_wait_ns));
  }
  REQUIRE(split.ns.size() > found.calls.size() / 3);
  CAPTURE(split.median(), split.worst());
  CHECK(split.median() < 5'000);
  CHECK(split.worst() < 10'000);
}
