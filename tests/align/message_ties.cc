// Clocks of ranks that exchange nothing but messages whose ends tell nothing: batches, and what a buffer took.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "../job_builder.h"
#include "skewscope/align.h"
#include "skewscope/matching.h"

using namespace skewscope;

namespace {

constexpr double kTransfer_us = 30;

// Ranks in a row on clocks up to 20 ms apart. In each of eight rounds per step every rank works, then sends to both its
// neighbours and receives from them in one kernel; it leaves a transfer after the last of them came.
struct Row {
  JobBuilder builder;
  std::vector<double> offset_us, now_us;
  std::mt19937_64 random{5};
  CommunicatorId group;

  explicit Row(int32_t ranks) : builder(ranks), now_us(static_cast<size_t>(ranks), 1000) {
    std::uniform_real_distribution<double> offset(-20'000, 20'000);
    std::vector<int32_t> members;
    for (int32_t r = 0; r < ranks; ++r) {
      members.push_back(r);
      offset_us.push_back(r == 0 ? 0 : offset(random));
    }
    group = builder.communicator("row", members);
  }

  double clock(size_t rank, double t) const { return 1e9 + t + offset_us[rank]; }

  template <class Work>
  void play(int64_t step, const Work& work_us) {
    const auto ranks = static_cast<int32_t>(now_us.size());
    for (int round = 0; round < 8; ++round) {
      for (size_t r = 0; r < now_us.size(); ++r) now_us[r] += work_us(r);
      const std::vector<double> came = now_us;
      for (int32_t r = 0; r < ranks; ++r) {
        std::vector<int32_t> neighbours;
        if (r > 0) neighbours.push_back(r - 1);
        if (r + 1 < ranks) neighbours.push_back(r + 1);
        const auto own = static_cast<size_t>(r);
        double last = came[own];
        for (const int32_t n : neighbours) last = std::max(last, came[static_cast<size_t>(n)]);
        now_us[own] = last + kTransfer_us + static_cast<double>(random() % 5);
        builder.batch(r, group, step, clock(own, came[own]), clock(own, now_us[own]), neighbours, neighbours);
      }
    }
  }

  double error_us(const ClockModel& clocks, size_t rank) const {
    const LocalNs local{static_cast<int64_t>(clock(rank, 60'000) * 1000)};
    const JobNs job = clocks.to_job(TraceIndex(static_cast<int64_t>(rank)), local);
    return std::fabs(static_cast<double>(job.ns) / 1000 - 1e9 - 60'000);
  }

  void check_clocks() {
    const JobTrace& job = builder.done();
    const InstanceTable table = match_collectives(job);
    REQUIRE(table.unmatched.empty());
    const ClockModel clocks = align_clocks(job, table, AlignMode::automatic);
    REQUIRE(check_invariants(clocks, job) == "");
    for (size_t r = 0; r < now_us.size(); ++r) {
      CAPTURE(r, clocks.clocks[r].uncertainty_ns);
      REQUIRE(clocks.clocks[r].component == 0);
      CHECK(error_us(clocks, r) <= static_cast<double>(clocks.clocks[r].uncertainty_ns) / 1000);
      CHECK(error_us(clocks, r) <= kTransfer_us * static_cast<double>(r) / 2);
    }
  }
};

}  // namespace

TEST_CASE("batches that go either way tie the clocks of a row of ranks to less than a transfer each") {
  Row row(4);
  for (int64_t step = 0; step < 5; ++step) {
    row.play(step, [&](size_t) { return 300 + static_cast<double>(row.random() % 400); });
  }
  row.check_clocks();
}

TEST_CASE("who is late most of the time ties its clock by the few times that it waited") {
  Row row(3);
  for (int64_t step = 0; step < 5; ++step) {
    row.play(step, [&](size_t rank) {
      return 300 + static_cast<double>(row.random() % 400) + (rank == 1 && row.random() % 8 > 0 ? 2000 : 0);
    });
  }
  row.check_clocks();
}

TEST_CASE("who never waits has its clock from those that wait for it alone, and half a transfer of doubt at least") {
  Row row(2);
  for (int64_t step = 0; step < 4; ++step) {
    for (int i = 0; i < 5; ++i) {
      // Rank 0 sends into a buffer and waits for the answer of rank 1, which works for 3 to 4 ms.
      const double start = row.now_us[0] + 50, came = start + 3'000 + static_cast<double>(row.random() % 1'000);
      const auto call = [&](int32_t own, double from, double to, CollectiveKind kind) {
        const auto r = static_cast<size_t>(own);
        CollectiveCall& made = row.builder.call(own, row.group, row.clock(r, from), row.clock(r, to), kind);
        made.peer = Rank(1 - own);
        made.step = step;
      };
      call(0, start, start + 12, CollectiveKind::send);
      call(1, came - 30, came - 15, CollectiveKind::recv);
      call(1, came, came + 12, CollectiveKind::send);
      call(0, start + 15, came + kTransfer_us, CollectiveKind::recv);
      row.now_us[0] = came + kTransfer_us;
    }
  }
  const JobTrace& job = row.builder.done();
  const InstanceTable table = match_collectives(job);
  REQUIRE(table.instances.size() == 40);
  const ClockModel clocks = align_clocks(job, table, AlignMode::automatic);
  REQUIRE(clocks.clocks[1].aligned);
  CHECK(row.error_us(clocks, 1) <= static_cast<double>(clocks.clocks[1].uncertainty_ns) / 1000);
  CHECK(clocks.clocks[1].uncertainty_ns > 15'000);
  CHECK(clocks.clocks[1].uncertainty_ns < 300'000);
}

TEST_CASE("a receiver that another partner holds ties nothing where messages go one way") {
  JobBuilder b(3);
  const CommunicatorId c = b.communicator("pp", {0, 1, 2});
  std::mt19937 random(4);
  double t = 1000;
  for (int64_t step = 0; step < 4; ++step) {
    for (int i = 0; i < 6; ++i, t += 6'000 + static_cast<double>(random() % 900)) {
      // Rank 1's kernel waits 5 ms for rank 2 to take its message; rank 0's has long arrived.
      b.batch(0, c, step, t, t + 12, {1, 2}, {});
      b.batch(1, c, step, t + 100, t + 5'130, {2}, {0});
      b.batch(2, c, step, t + 5'100, t + 5'135, {}, {0, 1});
    }
  }
  const JobTrace& job = b.done();
  const InstanceTable table = match_collectives(job);
  REQUIRE(table.instances.size() == 24);
  const ClockModel clocks = align_clocks(job, table, AlignMode::automatic);
  for (const TraceClock& clock : clocks.clocks) CHECK_FALSE(clock.aligned);
}
