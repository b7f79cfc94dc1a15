// What cause and effect prove, what a node may hint, which kinds of groups may tie clocks.
#include <tbb/global_control.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "../../src/align/feasible.h"
#include "../../src/align/model_choice.h"
#include "../../src/align/node_prior.h"
#include "../job_builder.h"
#include "clock_job.h"
#include "skewscope/align.h"
#include "skewscope/attribute.h"
#include "skewscope/matching.h"

using namespace skewscope;

namespace {

bool told(const Findings& findings, FindingCode code) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.code == code; });
}

// Error of a trace's common time against its component's reference, in nanoseconds.
double relative_error_ns(const ClockJob& truth, const ClockModel& clocks, size_t trace, double t_us) {
  const auto at = [&](size_t t) {
    const LocalNs local{std::llround(truth.clock_us(t, t_us) * 1000) + 1'700'000'000'000'000'000};
    return static_cast<double>(clocks.to_job(TraceIndex(static_cast<int64_t>(t)), local).ns - local.ns) +
           truth.clock_us(t, t_us) * 1000;
  };
  return at(trace) - at(static_cast<size_t>(clocks.clocks[trace].component));
}

}  // namespace

TEST_CASE("the true clocks lie inside what cause and effect prove, and nothing is alarmed") {
  const ClockJob truth = make_clock_job(clock_scenario("one clock"));
  const ClockModel clocks = align_clocks(truth.job, truth.instances, AlignMode::automatic);
  CHECK(clocks.findings.empty());
  for (size_t t = 1; t < clocks.clocks.size(); ++t) {
    const TraceClock& clock = clocks.clocks[t];
    REQUIRE(clock.proven_low_ns < clock.proven_high_ns);
    for (const double share : {0.0, 0.5, 1.0}) {
      // What has to be added to the common time to make it right.
      const double missing = -relative_error_ns(truth, clocks, t, share * truth.window_us);
      REQUIRE(missing > static_cast<double>(clock.proven_low_ns) - 1000);
      REQUIRE(missing < static_cast<double>(clock.proven_high_ns) + 1000);
    }
  }
}

TEST_CASE("stamps that no clocks explain are called a contradiction") {
  JobBuilder b(2);
  const CommunicatorId c = b.communicator("world", {0, 1});
  std::mt19937 random(1);
  double t = 0;
  for (int i = 0; i < 40; ++i) {
    t += static_cast<double>(500 + random() % 1000);
    // Neither waits for the other: now one, now the other is gone before its partner comes.
    const double early = i % 2 == 0 ? 0 : 60, late = i % 2 == 0 ? 60 : 0;
    b.call(0, c, t + early, t + early + 30).seq = i;
    b.call(1, c, t + late, t + late + 30).seq = i;
  }
  const JobTrace& job = b.done();
  const ClockModel clocks = align_clocks(job, match_collectives(job), AlignMode::automatic);
  CHECK(told(clocks.findings, "clocks-contradict"));
  CHECK(told(clocks.findings, "causality-after-fit"));
}

TEST_CASE("a member of a wrong instance is refused for causality, and its instance is suspected") {
  const ClockJob truth = make_clock_job(clock_scenario("mismatched"));
  const ClockModel clocks = align_clocks(truth.job, truth.instances, AlignMode::automatic);
  CHECK(told(clocks.findings, "suspected-mismatch"));
  const Decomposition d = attribute_time(truth.job, truth.instances, clocks);
  size_t wrong = 0, refused = 0, falsely = 0;
  for (size_t id = 0; id < truth.instances.instances.size(); ++id) {
    const CollectiveInstance& i = truth.instances.instances[id];
    bool pure = true;
    for (uint32_t k = 0; k < i.member_count; ++k) {
      const CallRef& ref = truth.instances.members[i.first_member + k];
      pure = pure && truth.calls[ref.trace.index()][static_cast<size_t>(ref.call)].instance == truth.instance_of[id];
    }
    const bool no_numbers = d.instances[id].reason == SplitReason::causality;
    wrong += pure ? 0 : 1;
    refused += !pure && no_numbers ? 1 : 0;
    falsely += pure && no_numbers ? 1 : 0;
  }
  REQUIRE(wrong > 100);
  CHECK(refused == wrong);
  CHECK(falsely == 0);
}

TEST_CASE("a rank of a node with a clock of its own keeps it: the node is a hint only") {
  ClockJobOptions options = clock_scenario("one clock");
  ClockJob truth = make_clock_job(options);
  constexpr int64_t kOff = 78'500;  // ns, as seen on two NPUs of one host
  for (CollectiveCall& call : truth.job.traces[37].calls) call.start = call.start + kOff;
  set_spans(truth.instances, truth.job);
  const ClockModel clocks = align_clocks(truth.job, truth.instances, AlignMode::automatic);
  CHECK(std::fabs(static_cast<double>(clocks.clocks[37].offset_ns - kOff)) < 6'000);
}

TEST_CASE("the node's hint brings clocks of one node closer to the truth") {
  const auto rms = [](bool hosts) {
    double squares = 0;
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      ClockJobOptions options = clock_scenario("one step");
      options.seed = seed;
      options.hosts = hosts;
      options.gpu_offset_us = 0.1;
      const ClockJob truth = make_clock_job(options);
      const ClockModel clocks = align_clocks(truth.job, truth.instances, AlignMode::automatic);
      const Decomposition d = attribute_time(truth.job, truth.instances, clocks);
      squares += std::pow(score_clocks(truth, truth.instances, clocks, d).clock_rms_us, 2);
    }
    return std::sqrt(squares / 3);
  };
  CHECK(rms(true) < rms(false));
}

TEST_CASE("a rank with two instances inherits the clock of its node") {
  JobBuilder b(4);
  const CommunicatorId all = b.communicator("world", {0, 1, 2, 3});
  const double off_us[] = {0, 900, 901, 900};
  std::mt19937_64 random(4);
  std::exponential_distribution<double> noise(0.5);
  for (int i = 0; i < 40; ++i) {
    const double t = 1000.0 * i;
    for (int32_t r = 0; r < 4; ++r) {
      if (r == 3 && i > 1) continue;
      const double late = r == 3 ? 6 : noise(random);  // its own ends mislead
      b.call(r, all, t + off_us[r], t + off_us[r] + 40 + late).seq = i;
    }
  }
  for (int32_t r = 0; r < 4; ++r) b.trace(r).host = r == 0 ? "a" : "b";
  const JobTrace& job = b.done();
  const InstanceTable table = match_collectives(job);
  const ClockModel with = align_clocks(job, table, AlignMode::automatic);
  for (int32_t r = 0; r < 4; ++r) b.trace(r).host.clear();
  const ClockModel without = align_clocks(job, table, AlignMode::automatic);
  CHECK(std::llabs(with.clocks[3].offset_ns - 900'000) < 2'000);
  CHECK(std::llabs(without.clocks[3].offset_ns - 900'000) > 3'000);
  CHECK(without.clocks[3].uncertainty_ns > without.clocks[2].uncertainty_ns);
}

TEST_CASE("a kind of groups whose ends mislead does not tie clocks") {
  // Two fours, one rank 700 us off; small all-reduces within each end within microseconds. Between the fours there are
  // pairs only, whose ends lie 300 us apart, in one direction for one size, in the other for the other: each size
  // misleads about the other.
  JobBuilder b(8);
  const CommunicatorId fours[] = {b.communicator("tp", {0, 1, 2, 3}), b.communicator("tp", {4, 5, 6, 7})};
  std::vector<CommunicatorId> pairs;
  for (int32_t r = 0; r < 4; ++r) pairs.push_back(b.communicator("dp", {r, r + 4}));
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> step(400, 1600);
  std::exponential_distribution<double> noise(0.5);
  double t = 0;
  for (int i = 0; i < 60; ++i) {
    const int64_t elements = i % 2 == 0 ? 1 << 10 : 1 << 11;
    const auto call = [&](int32_t r, CommunicatorId c, double length) {
      const double off = r == 5 ? 700 : 0;
      b.call(r, c, t + off, t + off + length + noise(random), CollectiveKind::all_reduce, elements).seq = i;
    };
    t += step(random);
    for (int32_t r = 0; r < 8; ++r) call(r, fours[r / 4], 30);
    t += step(random);
    for (int32_t r = 0; r < 8; ++r)
      call(r, pairs[static_cast<size_t>(r % 4)], 500 + ((r < 4) == (i % 2 == 0) ? 300 : 0));
  }
  const JobTrace& job = b.done();
  const InstanceTable table = match_collectives(job);
  const std::vector<align::Beacons> beacons = align::collect_beacons(job, table);
  REQUIRE(beacons.size() == 1);
  const align::ModelChoice choice = align::choose_model(beacons[0], 1, false, alone());
  CHECK(choice.dropped);
  for (size_t c = 0; c < beacons[0].rows(); ++c) {
    const bool of_pair = beacons[0].end(c) - beacons[0].begin(c) == 2;
    REQUIRE(choice.use[c] == !of_pair);
  }
  const ClockModel clocks = align_clocks(job, table, AlignMode::automatic);
  for (size_t r = 0; r < 8; ++r) {
    CHECK(std::llabs(clocks.clocks[r].offset_ns - (r == 5 ? 700'000 : 0)) < 3'000);
    // Between the fours only the wall clocks speak, and nothing vouches for them but the pairs' ends.
    CHECK((clocks.clocks[r].uncertainty_ns >= 300'000) == (r >= 4));
  }
}

TEST_CASE("a bend is followed on the clock itself, and the line stays the one that reports define") {
  const ClockJob truth = make_clock_job(clock_scenario("bent 30"));
  const ClockModel clocks = align_clocks(truth.job, truth.instances, AlignMode::automatic);
  for (size_t t = 0; t < clocks.clocks.size(); ++t) {
    const TraceClock& k = clocks.clocks[t];
    REQUIRE(k.method == ClockMethod::bent);
    const LocalNs c = truth.job.traces[t].calls[100].start;
    const double line =
        static_cast<double>(c.ns - k.offset_ns) - k.drift_ppb * 1e-9 * static_cast<double>(c.ns - clocks.reference_ns);
    const JobNs job = clocks.to_job(TraceIndex(static_cast<int64_t>(t)), c);
    CHECK(std::fabs(static_cast<double>(job.ns) - (line - k.bend.at(c))) < 300);  // doubles of 1e18
    CHECK(k.bend.at(k.bend.first) == 0);
  }
}

TEST_CASE("clocks and error bars are the same for one thread and two") {
  const ClockJob truth = make_clock_job(clock_scenario("holes"));
  const auto align_with = [&](size_t threads) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    return align_clocks(truth.job, truth.instances, AlignMode::automatic);
  };
  const ClockModel one = align_with(1), two = align_with(2);
  for (size_t t = 0; t < one.clocks.size(); ++t) {
    REQUIRE(one.clocks[t].offset_ns == two.clocks[t].offset_ns);
    REQUIRE(one.clocks[t].drift_ppb == two.clocks[t].drift_ppb);
    REQUIRE(one.clocks[t].uncertainty_ns == two.clocks[t].uncertainty_ns);
  }
  REQUIRE(one.ties == two.ties);
}
