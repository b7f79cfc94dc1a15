#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "../job_builder.h"
#include "skewscope/align.h"
#include "skewscope/matching.h"

using namespace skewscope;

namespace {

// A job whose ranks meet in all-reduces of one group of each column and one of each row of a tp x dp grid. True time in
// microseconds; rank r writes t + offset_us + t * drift_ppm. Ends scatter by exponential 2 us.
struct Grid {
  int tp, dp, steps;
  std::vector<double> offset_us, drift_ppm;
  int slow = -1;

  double clock(int rank, double t_us) const {
    const auto r = static_cast<size_t>(rank);
    return 1e9 + t_us + offset_us[r] + t_us * drift_ppm[r] * 1e-6;
  }
};

JobBuilder grid_job(const Grid& g) {
  JobBuilder b(g.tp * g.dp);
  std::vector<CommunicatorId> rows, columns;
  for (int d = 0; d < g.dp; ++d) {
    std::vector<int32_t> ranks;
    for (int t = 0; t < g.tp; ++t) ranks.push_back(d * g.tp + t);
    rows.push_back(b.communicator("tp", ranks));
  }
  for (int t = 0; t < g.tp; ++t) {
    std::vector<int32_t> ranks;
    for (int d = 0; d < g.dp; ++d) ranks.push_back(d * g.tp + t);
    columns.push_back(b.communicator("dp", ranks));
  }
  std::mt19937 random(3);
  std::normal_distribution<double> compute(1000, 30);
  std::exponential_distribution<double> late(0.5);
  std::vector<double> now(static_cast<size_t>(g.tp * g.dp), 0);
  const auto meet = [&](CommunicatorId c, double transfer_us) {
    double last = 0;
    const Communicator communicator = b.job.communicators[c];
    std::vector<double> start;
    for (const Rank r : communicator.members) {
      start.push_back(now[r.index()] + compute(random) * (r.value == g.slow ? 1.2 : 1));
      last = std::max(last, start.back());
    }
    for (size_t i = 0; i < start.size(); ++i) {
      const int32_t r = communicator.members[i].value;
      const double end = last + transfer_us + late(random);
      b.call(r, c, g.clock(r, start[i]), g.clock(r, end));
      now[static_cast<size_t>(r)] = end;
    }
  };
  for (int s = 0; s < g.steps; ++s) {
    for (int layer = 0; layer < 6; ++layer) {
      for (const CommunicatorId c : rows) meet(c, 150);
    }
    for (const CommunicatorId c : columns) meet(c, 900);
  }
  return b;
}

// Largest error of corrected stamps between ranks, in microseconds, over the window.
double worst_error_us(const Grid& g, const ClockModel& model, double window_us) {
  double worst = 0;
  for (const double t : {0.0, window_us / 2, window_us}) {
    const auto seen = [&](int r) {
      const LocalNs local{static_cast<int64_t>(g.clock(r, t) * 1000)};
      return static_cast<double>(model.to_job(TraceIndex(r), local).ns) / 1000;
    };
    for (int r = 1; r < g.tp * g.dp; ++r) worst = std::max(worst, std::fabs(seen(r) - seen(0)));
  }
  return worst;
}

}  // namespace

TEST_CASE("offsets of 50 ms and drifts of 20 ppm between nodes are found to microseconds") {
  Grid g{4, 2, 120, {}, {}, -1};
  for (int r = 0; r < 8; ++r) {
    g.offset_us.push_back(r < 4 ? -50'000 : 50'000);
    g.drift_ppm.push_back(r < 4 ? 20 : -20);
  }
  JobBuilder b = grid_job(g);
  const JobTrace& job = b.done();
  const InstanceTable instances = match_collectives(job);
  REQUIRE(instances.unmatched.empty());
  const ClockModel model = align_clocks(job, instances, AlignMode::automatic);
  REQUIRE(model.clocks[5].method == ClockMethod::line);
  REQUIRE(worst_error_us(g, model, 900'000) < 5);
  // The sign of DEFINITIONS.md: t = c - offset; rank 4's clock reads 100 ms more than rank 0's.
  REQUIRE(std::fabs(static_cast<double>(model.clocks[4].offset_ns) - 100e6) < 20'000);
  REQUIRE(model.clocks[4].drift_ppb == Approx(-40'000).margin(1000));
}

TEST_CASE("the error bar covers the true error") {
  Grid g{4, 4, 10, {}, {}, 6};
  std::mt19937 random(17);
  std::uniform_real_distribution<double> offset(-30'000, 30'000), drift(-20, 20);
  for (int r = 0; r < 16; ++r) {
    g.offset_us.push_back(offset(random));
    g.drift_ppm.push_back(drift(random));
  }
  JobBuilder b = grid_job(g);
  const JobTrace& job = b.done();
  const ClockModel model = align_clocks(job, match_collectives(job), AlignMode::automatic);
  double worst_bar_us = 0;
  for (const TraceClock& c : model.clocks) {
    REQUIRE(c.aligned);
    REQUIRE(c.uncertainty_ns >= 0);
    worst_bar_us = std::max(worst_bar_us, static_cast<double>(c.uncertainty_ns) / 1000);
  }
  for (size_t i = 0; i < 16; ++i)
    UNSCOPED_INFO(i << " " << to_string(model.clocks[i].method) << " bar " << model.clocks[i].uncertainty_ns);
  REQUIRE(worst_error_us(g, model, 80'000) < 2 * worst_bar_us);
  REQUIRE(worst_bar_us < 10);
}

TEST_CASE("clocks that agree are left alone") {
  Grid g{4, 2, 12, std::vector<double>(8, 0), std::vector<double>(8, 0), 3};
  JobBuilder b = grid_job(g);
  const JobTrace& job = b.done();
  const ClockModel model = align_clocks(job, match_collectives(job), AlignMode::automatic);
  for (const TraceClock& c : model.clocks) {
    REQUIRE(c.method == ClockMethod::identity);
    REQUIRE(c.offset_ns == 0);
    REQUIRE(c.aligned);
  }
}

TEST_CASE("a straggler does not move the clocks") {
  Grid g{4, 2, 12, std::vector<double>(8, 0), std::vector<double>(8, 0), 2};
  g.offset_us[5] = 700;
  JobBuilder b = grid_job(g);
  const JobTrace& job = b.done();
  const ClockModel model = align_clocks(job, match_collectives(job), AlignMode::automatic);
  REQUIRE(worst_error_us(g, model, 100'000) < 5);
}

TEST_CASE("the reference is the component's first rank, at offset and drift 0") {
  Grid g{2, 2, 12, {5000, -3000, 800, 900}, {10, 3, -7, 0}, -1};
  JobBuilder b = grid_job(g);
  const JobTrace& job = b.done();
  const ClockModel model = align_clocks(job, match_collectives(job), AlignMode::automatic);
  REQUIRE(model.clocks[0].offset_ns == 0);
  REQUIRE(model.clocks[0].drift_ppb == 0);
}

TEST_CASE("ranks that share no collective are never put on one clock") {
  JobBuilder b(4);
  const CommunicatorId low = b.communicator("tp", {0, 1}), high = b.communicator("tp", {2, 3});
  std::mt19937 random(1);
  double t = 0;
  for (int i = 0; i < 20; ++i) {
    t += static_cast<double>(500 + random() % 1000);
    b.call(0, low, t, t + 30);
    b.call(1, low, t + 5, t + 30);
    b.call(2, high, t + 100, t + 150);
    b.call(3, high, t + 120, t + 151);
  }
  const JobTrace& job = b.done();
  const ClockModel model = align_clocks(job, match_collectives(job), AlignMode::automatic);
  REQUIRE(model.clocks[0].component == model.clocks[1].component);
  REQUIRE(model.clocks[2].component == model.clocks[3].component);
  REQUIRE(model.clocks[0].component != model.clocks[2].component);
}

TEST_CASE("a rank without a partner stays at its wall clock and says so") {
  JobBuilder b(2);
  const CommunicatorId c = b.communicator("world", {0, 1});
  b.call(0, c, 0, 100);
  const JobTrace& job = b.done();
  const ClockModel model = align_clocks(job, match_collectives(job), AlignMode::automatic);
  REQUIRE_FALSE(model.clocks[0].aligned);
  REQUIRE(model.clocks[0].method == ClockMethod::wallclock);
  REQUIRE(model.clocks[0].uncertainty_ns == -1);
}

TEST_CASE("with --align wallclock the clocks are taken as recorded") {
  Grid g{4, 2, 6, std::vector<double>(8, 0), std::vector<double>(8, 0), -1};
  g.offset_us[7] = 40'000;
  JobBuilder b = grid_job(g);
  const JobTrace& job = b.done();
  const ClockModel model = align_clocks(job, match_collectives(job), AlignMode::wallclock);
  REQUIRE(model.clocks[7].offset_ns == 0);
  REQUIRE(model.clocks[7].component == model.clocks[0].component);
}

TEST_CASE("a base time that differs by a quarter of a year changes neither drift nor error bar") {
  Grid g{4, 2, 60, std::vector<double>(8, 0), std::vector<double>(8, 0), 3};
  for (size_t r = 4; r < 8; ++r) {
    g.offset_us[r] = 7'889'238e6;
    g.drift_ppm[r] = 20;
  }
  JobBuilder b = grid_job(g);
  const JobTrace& job = b.done();
  const InstanceTable instances = match_collectives(job);
  REQUIRE(instances.unmatched.empty());
  const ClockModel model = align_clocks(job, instances, AlignMode::automatic);
  for (const TraceClock& c : model.clocks) REQUIRE(c.uncertainty_ns < 10'000);
  REQUIRE(worst_error_us(g, model, 450'000) < 5);
}
