#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "../../src/align/two_way.h"
#include "../job_builder.h"
#include "skewscope/align.h"
#include "skewscope/matching.h"

using namespace skewscope;

namespace {

// A pipeline of `stages` ranks on clocks up to 20 ms apart: each step activations go up, one pair after the other, and,
// where `back` is set, gradients come down. A receiver waits from 400 us before its sender comes, and ends 8 us (plus
// exponential 1 us) after it.
struct Pipeline {
  JobBuilder builder;
  std::vector<double> offset_us;

  Pipeline(int stages, bool back) : builder(stages) {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> offset(-20'000, 20'000), compute(800, 1200);
    std::exponential_distribution<double> noise(1);
    std::vector<int32_t> ranks;
    for (int32_t r = 0; r < stages; ++r) {
      ranks.push_back(r);
      offset_us.push_back(r == 0 ? 0 : offset(random));
    }
    const CommunicatorId pp = builder.communicator("pp", ranks);
    double now = 0;
    const auto transfer = [&](int32_t from, int32_t to) {
      now += compute(random);
      const double end = now + 50;
      const auto at = [&](int32_t r, double t) { return 1e9 + t + offset_us[static_cast<size_t>(r)]; };
      builder.call(from, pp, at(from, now), at(from, end), CollectiveKind::send).peer = Rank(to);
      const double received = end + 8 + noise(random);
      builder.call(to, pp, at(to, now - 400), at(to, received), CollectiveKind::recv).peer = Rank(from);
    };
    for (int step = 0; step < 60; ++step) {
      for (int32_t r = 0; r + 1 < stages; ++r) transfer(r, r + 1);
      for (int32_t r = stages - 1; back && r > 0; --r) transfer(r, r - 1);
    }
  }

  double worst_error_us(const ClockModel& clocks) const {
    double worst = 0;
    for (size_t r = 0; r < offset_us.size(); ++r) {
      const LocalNs local{static_cast<int64_t>((1e9 + 60'000 + offset_us[r]) * 1000)};
      const JobNs job = clocks.to_job(TraceIndex(static_cast<int64_t>(r)), local);
      worst = std::max(worst, std::fabs(static_cast<double>(job.ns) / 1000 - 1e9 - 60'000));
    }
    return worst;
  }
};

}  // namespace

// The last stage is always late, so the ends of its pair look least alike: none of them must push out the others' rows.
TEST_CASE("batches between neighbours tie every clock of a pipeline, also the one of a stage that is always late") {
  JobBuilder builder(3);
  const CommunicatorId pp = builder.communicator("pp", {0, 1, 2});
  const std::vector<double> offset_us = {0, 5000, -7000};
  std::mt19937 random(8);
  double now = 0;
  const auto exchange = [&](int32_t a, int32_t b, double late_us) {
    now += 300 + static_cast<double>(random() % 400);
    const double end = now + late_us + 20;
    const auto call = [&](int32_t own, int32_t peer, double start) {
      const double clock = 1e9 + offset_us[static_cast<size_t>(own)];
      builder.call(own, pp, clock + start, clock + end, CollectiveKind::send_recv).peer = Rank(peer);
    };
    call(a, b, now);
    call(b, a, now + late_us);
    now = end;
  };
  for (int step = 0; step < 600; ++step) {
    exchange(0, 1, static_cast<double>(random() % 10));
    exchange(1, 2, 200 + static_cast<double>(random() % 200));
  }
  const JobTrace& job = builder.done();
  const InstanceTable table = match_collectives(job);
  REQUIRE(table.instances.size() == 1200);
  const ClockModel clocks = align_clocks(job, table, AlignMode::automatic);
  for (size_t r = 0; r < offset_us.size(); ++r) {
    const LocalNs local{static_cast<int64_t>((1e9 + 60'000 + offset_us[r]) * 1000)};
    const JobNs at = clocks.to_job(TraceIndex(static_cast<int64_t>(r)), local);
    CHECK(static_cast<double>(at.ns) / 1000 - 1e9 - 60'000 == Approx(0).margin(1));
    CHECK(clocks.clocks[r].component == clocks.clocks[0].component);
  }
}

TEST_CASE("sends in both directions tie the clocks of a pipeline to a microsecond per chain of eight") {
  Pipeline p(8, true);
  const JobTrace& job = p.builder.done();
  const InstanceTable table = match_collectives(job);
  const ClockModel clocks = align_clocks(job, table, AlignMode::automatic);
  REQUIRE(check_invariants(clocks, job) == "");
  for (const TraceClock& clock : clocks.clocks) REQUIRE(clock.component == 0);
  CHECK(p.worst_error_us(clocks) < 1);
}

TEST_CASE("the delay of a link is told from both directions, whatever the clocks") {
  Pipeline p(2, true);
  const JobTrace& job = p.builder.done();
  const std::vector<align::TwoWayLink> links = align::two_way_links(job, match_collectives(job));
  REQUIRE(links.size() == 1);
  REQUIRE(links[0].instances.size() == 120);
  CHECK(std::fabs(static_cast<double>(links[0].bias_ns) - 8'900) < 400);  // the half sum's median, past 8 us of hop
}

// Small messages over a network: the sender is gone when the receiver comes, 600 us later; all calls are short. What
// comes back finds its receiver waiting.
TEST_CASE("buffered sends, whose receivers come when the message is there, put no lateness into the clocks") {
  JobBuilder builder(2);
  const CommunicatorId pp = builder.communicator("pp", {0, 1});
  std::mt19937 random(8);
  double now = 1e9;
  for (int64_t step = 0; step < 20; ++step) {
    now += 3'000 + static_cast<double>(random() % 100);
    const double late = 550 + static_cast<double>(random() % 100);
    const auto call = [&](int32_t own, int32_t peer, double start, double end, CollectiveKind kind) {
      CollectiveCall& made = builder.call(own, pp, start, end, kind);
      made.peer = Rank(peer);
      made.step = step;
    };
    call(0, 1, now, now + 13, CollectiveKind::send);
    call(1, 0, now + late, now + late + 50, CollectiveKind::recv);
    call(1, 0, now + 2'000, now + 2'012, CollectiveKind::send);
    call(0, 1, now + 20, now + 2'015, CollectiveKind::recv);
  }
  const JobTrace& job = builder.done();
  const InstanceTable table = match_collectives(job);
  REQUIRE(table.instances.size() == 40);
  for (const CollectiveInstance& i : table.instances) CHECK(i.member_count == 2);
  const ClockModel clocks = align_clocks(job, table, AlignMode::automatic);
  CHECK(std::abs(clocks.clocks[1].offset_ns) < 10'000);
}

TEST_CASE("sends in one direction, for which nobody waits long, tie no clocks") {
  Pipeline p(4, false);
  const JobTrace& job = p.builder.done();
  const ClockModel clocks = align_clocks(job, match_collectives(job), AlignMode::automatic);
  for (const TraceClock& clock : clocks.clocks) REQUIRE_FALSE(clock.aligned);
}

TEST_CASE("a pipeline that only sends forward is compared by the clock of its host, where its ends agree on it") {
  for (const double apart_us : {0.0, 300.0, 5'000.0}) {
    for (const bool one_host : {true, false}) {
      Pipeline p(2, false);
      for (CollectiveCall& call : p.builder.trace(1).calls) {
        call.start = call.start + std::llround(1000 * (apart_us - p.offset_us[1]));
      }
      p.builder.trace(0).host = "node0";
      p.builder.trace(1).host = one_host ? "node0" : "node1";
      const JobTrace& job = p.builder.done();
      const ClockModel model = align_clocks(job, match_collectives(job), AlignMode::automatic);
      CAPTURE(apart_us, one_host);
      REQUIRE(check_invariants(model, job) == "");
      CHECK_FALSE(model.clocks[1].aligned);
      const bool compared = one_host && apart_us < 1'000;
      CHECK((model.clocks[0].component >= 0 && model.clocks[0].component == model.clocks[1].component) == compared);
      if (compared) CHECK(static_cast<double>(model.clocks[1].uncertainty_ns) >= 1000 * apart_us);
    }
  }
}
