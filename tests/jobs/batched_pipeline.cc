// A pipeline whose stages exchange activations and gradients by batch_isend_irecv, written as PyTorch writes it: the
// kernel says nothing of group, peer or size; two records and a range in front of its launch do. Truth is by hand: who
// receives leaves 25 us after it and its sender came.
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
constexpr std::array<double, kStages> kClocks_us = {0, 1500.25, -700.5};

class Stage {
 public:
  Stage(size_t rank, double clock_us) : rank_(rank), clock_us_(clock_us) {}

  double now_us = 1000, waited_us = 0;

  // Begins; what is launched from here on is in it.
  void step(int number) {
    end_step();
    step_ = number;
    step_began_us_ = now_us - 35;
  }

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

  void write(const test::Folder& folder) {
    end_step();
    std::ofstream file(folder.path / fmt::format("rank{}_trace.json", rank_));
    file << fmt::format(R"({{"distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}}}, "traceEvents": [)",
                        rank_, kStages)
         << "\n"
         << events_.substr(0, events_.size() - 2) << "\n]}\n";
  }

 private:
  size_t host() const { return 4000 + rank_; }

  void end_step() {
    if (step_ < 0) return;
    const std::string name = fmt::format("ProfilerStep#{}", step_);
    event("user_annotation", name.c_str(), step_began_us_, now_us - 35 - step_began_us_, host(), "");
  }

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
  int step_ = -1;
  double step_began_us_ = 0;
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
  std::array<Stage, kStages> stages = {Stage(0, kClocks_us[0]), Stage(1, kClocks_us[1]), Stage(2, kClocks_us[2])};
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    for (size_t rank = 0; rank < kStages; ++rank) {
      const double work_us = 300 + static_cast<double>(random() % 200);
      stages[rank].compute(rank == 2 ? 1.4 * work_us : work_us);
    }
    exchange(stages[0], 0, stages[1], 1);
    exchange(stages[1], 1, stages[2], 2);
  }
  for (Stage& stage : stages) stage.write(folder);

  StageTimer timer;
  const Result<JobReport> done = correlate({folder.path.string()}, {}, timer);
  REQUIRE(done.ok());
  const JobReport& report = done.value();
  REQUIRE(report.ranks.size() == kStages);
  for (size_t rank = 0; rank < kStages; ++rank) {
    CHECK(static_cast<double>(report.ranks[rank].wait_ns) / 1000 == Approx(stages[rank].waited_us).margin(5));
  }
  REQUIRE(report.collectives.size() == 1);
  CHECK(report.collectives[0].op == CollectiveKind::send_recv);
  CHECK(report.collectives[0].count == 120);
  CHECK(report.collectives[0].bytes == 8192);
  REQUIRE_FALSE(report.stragglers.empty());
  CHECK(report.stragglers[0].rank == 2);
}

TEST_CASE("in a ring, whose batches have two peers each, every rank waits for the one that sends to it") {
  const test::Folder folder("batched_ring");
  std::filesystem::create_directories(folder.path);
  std::array<Stage, kStages> ring = {Stage(0, kClocks_us[0]), Stage(1, kClocks_us[1]), Stage(2, kClocks_us[2])};
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    for (size_t rank = 0; rank < kStages; ++rank) {
      if (i % 20 == 0) ring[rank].step(i / 20);
      const double work_us = 300 + static_cast<double>(random() % 200);
      ring[rank].compute(rank == 1 ? 1.4 * work_us : work_us);
    }
    const std::array<double, kStages> came_us = {ring[0].now_us, ring[1].now_us, ring[2].now_us};
    for (size_t rank = 0; rank < kStages; ++rank) {
      const size_t next = (rank + 1) % kStages, before = (rank + 2) % kStages;
      const size_t to = i % 2 == 0 ? next : before, from = i % 2 == 0 ? before : next;  // round one way, then the other
      const int64_t launch = ring[rank].batch(to, from);
      ring[rank].leave(came_us[rank], std::max(came_us[rank], came_us[from]), launch);
    }
  }
  for (Stage& rank : ring) rank.write(folder);

  StageTimer timer;
  const Result<JobReport> done = correlate({folder.path.string()}, {}, timer);
  REQUIRE(done.ok());
  const JobReport& report = done.value();
  CHECK(report.matching.calls == 180);
  CHECK(report.unmatched.empty());
  REQUIRE(report.collectives.size() == 1);
  CHECK(report.collectives[0].op == CollectiveKind::coalesced);
  CHECK(report.collectives[0].count == 60);
  for (size_t rank = 0; rank < kStages; ++rank) {
    INFO(rank << ": error bar " << report.clocks[rank].uncertainty_ns << " ns");
    const double bar_us = static_cast<double>(report.clocks[rank].uncertainty_ns) / 1000;
    CHECK(std::abs(static_cast<double>(report.clocks[rank].offset_ns) / 1000 - kClocks_us[rank]) <= bar_us);
    CHECK(static_cast<double>(report.ranks[rank].wait_ns) / 1000 ==
          Approx(ring[rank].waited_us).epsilon(0.02).margin(50));
  }
  REQUIRE_FALSE(report.stragglers.empty());
  CHECK(report.stragglers[0].rank == 1);
}
