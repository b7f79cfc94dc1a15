// A pipeline whose stages exchange activations and gradients by batch_isend_irecv, written as PyTorch writes it: the
// kernel says nothing of group, peer or size; two records and a range in front of its launch do. Truth is by hand: both
// ends of an exchange leave 25 us after the later one came.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "skewscope/correlate.h"
#include "tests/temporary_folder.h"

using namespace skewscope;

namespace {

constexpr size_t kStages = 3;
constexpr double kStart_us = 1.7e12;

class Stage {
 public:
  Stage(size_t rank, double clock_us) : rank_(rank), clock_us_(clock_us) {}

  double now_us = 1000, waited_us = 0;

  void compute(double duration_us) {
    const int64_t correlation = launch("cudaLaunchKernel", now_us - 30);
    kernel("gemm", now_us, duration_us, 7, correlation);
    now_us += duration_us;
  }

  // Records and launches; returns the launch.
  int64_t batch(size_t to, size_t from) {
    record("send", "Dst Rank", to, now_us - 60);
    record("recv", "Src Rank", from, now_us - 54);
    event("user_annotation", "nccl:coalesced", now_us - 48, 20, host(), "");
    return launch("cudaLaunchKernelExC", now_us - 44);
  }

  void leave(double start_us, double last_us, int64_t correlation) {
    const double end_us = last_us + 25;
    kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", start_us, end_us - start_us, 20, correlation);
    waited_us += last_us - start_us;
    now_us = end_us + 5;
  }

  void write(const test::Folder& folder) const {
    std::ofstream file(folder.path / fmt::format("rank{}_trace.json", rank_));
    file << fmt::format(R"({{"distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}}}, "traceEvents": [)",
                        rank_, kStages)
         << "\n"
         << events_.substr(0, events_.size() - 2) << "\n]}\n";
  }

 private:
  size_t host() const { return 4000 + rank_; }

  void event(const char* category, const char* name, double at_us, double duration_us, size_t thread,
             const std::string& args) {
    events_ += fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, "args": {{{}}}}},)",
        category, name, host(), thread, kStart_us + at_us + clock_us_, duration_us, args);
    events_ += "\n";
  }
  int64_t launch(const char* name, double at_us) {
    event("cuda_runtime", name, at_us, 8, host(), fmt::format(R"("correlation": {})", ++correlation_));
    return correlation_;
  }
  void kernel(const char* name, double at_us, double duration_us, size_t stream, int64_t correlation) {
    event("kernel", name, at_us, duration_us, stream,
          fmt::format(R"("device": 0, "stream": {}, "correlation": {})", stream, correlation));
  }
  void record(const char* operation, const char* peer_key, size_t peer, double at_us) {
    event("cpu_op", "record_param_comms", at_us, 4, host(),
          fmt::format(R"("Collective name": "{}", "In msg nelems": 4096, "Out msg nelems": 4096, "Group size": 3, )"
                      R"("dtype": "BFloat16", "Process Group Name": "3", "Process Group Ranks": "[0, 1, 2]", "{}": {})",
                      operation, peer_key, peer));
  }

  size_t rank_;
  double clock_us_;
  int64_t correlation_ = 0;
  std::string events_;
};

void exchange(Stage& a, size_t rank_a, Stage& b, size_t rank_b) {
  const int64_t launch_a = a.batch(rank_b, rank_b), launch_b = b.batch(rank_a, rank_a);
  const double last_us = std::max(a.now_us, b.now_us);
  a.leave(a.now_us, last_us, launch_a);
  b.leave(b.now_us, last_us, launch_b);
}

}  // namespace

TEST_CASE("stages that exchange in batches are matched, their waiting is exact, the slow stage is found") {
  const test::Folder folder("batched_pipeline");
  std::filesystem::create_directories(folder.path);
  std::array<Stage, kStages> stages = {Stage(0, 0), Stage(1, 1500.25), Stage(2, -700.5)};
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    for (size_t rank = 0; rank < kStages; ++rank) {
      const double work_us = 300 + static_cast<double>(random() % 200);
      stages[rank].compute(rank == 2 ? 1.4 * work_us : work_us);
    }
    exchange(stages[0], 0, stages[1], 1);
    exchange(stages[1], 1, stages[2], 2);
  }
  for (const Stage& stage : stages) stage.write(folder);

  StageTimer timer;
  const Result<JobReport> done = correlate({folder.path.string()}, {}, timer);
  REQUIRE(done.ok());
  const JobReport& report = done.value();
  REQUIRE(report.ranks.size() == kStages);
  for (size_t rank = 0; rank < kStages; ++rank) {
    CHECK(static_cast<double>(report.ranks[rank].wait_ns) / 1000 == Approx(stages[rank].waited_us).margin(5));
  }
  REQUIRE(report.collectives.size() == 1);
  CHECK(report.collectives[0].op == "send_recv");
  CHECK(report.collectives[0].count == 120);
  CHECK(report.collectives[0].bytes == 8192);
  REQUIRE_FALSE(report.stragglers.empty());
  CHECK(report.stragglers[0].rank == 2);
}

TEST_CASE("of a ring, whose batches have two peers each, nothing is claimed, and the report says why") {
  const test::Folder folder("batched_ring");
  std::filesystem::create_directories(folder.path);
  std::array<Stage, kStages> ring = {Stage(0, 0), Stage(1, 1500.25), Stage(2, -700.5)};
  std::mt19937 random(3);
  for (int i = 0; i < 20; ++i) {
    for (Stage& rank : ring) rank.compute(300 + static_cast<double>(random() % 200));
    const double last_us = std::max({ring[0].now_us, ring[1].now_us, ring[2].now_us});
    for (size_t rank = 0; rank < kStages; ++rank) {
      const int64_t launch = ring[rank].batch((rank + 1) % kStages, (rank + 2) % kStages);
      ring[rank].leave(ring[rank].now_us, last_us, launch);
    }
  }
  for (const Stage& rank : ring) rank.write(folder);

  StageTimer timer;
  const Result<JobReport> done = correlate({folder.path.string()}, {}, timer);
  REQUIRE(done.ok());
  const JobReport& report = done.value();
  CHECK(report.matching.calls == 60);
  CHECK(report.collectives.empty());
  for (const JobReport::RankRow& row : report.ranks) CHECK(row.wait_ns == 0);
  int64_t batches = 0;
  for (const Finding& finding : report.diagnostics) batches += finding.code == "several-peers" ? finding.count : 0;
  CHECK(batches == 60);
}
