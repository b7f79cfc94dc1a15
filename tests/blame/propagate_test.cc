// Blame for a wait goes back to where it began.
#include <atomic>
#include <catch2/catch.hpp>
#include <random>

#include "small_job.h"

using namespace skewscope;
using namespace skewscope::test;

namespace {

// Four ranks in two pairs (tensor parallel) and two pairs across (data parallel). Each round rank 1 computes 30 us
// longer than the others; its partner 0 waits for it and then arrives late at rank 2's.
SmallJob chain(int rounds) {
  SmallJob job(4);
  const CommunicatorId tp0 = job.group({0, 1}), tp1 = job.group({2, 3}), dp0 = job.group({0, 2}),
                       dp1 = job.group({1, 3});
  const CommunicatorId all = job.group({0, 1, 2, 3});
  job.meet(all, 5);
  for (int round = 0; round < rounds; ++round) {
    for (int32_t r = 0; r < 4; ++r) job.work(r, r == 1 ? 130 : 100);
    job.meet(tp0, 5);
    job.meet(tp1, 5);
    for (int32_t r = 0; r < 4; ++r) job.work(r, 10);
    job.meet(dp0, 5);
    job.meet(dp1, 5);
    for (int32_t r = 0; r < 4; ++r) job.work(r, 2);
    job.meet(all, 5);
  }
  return job;
}

}  // namespace

TEST_CASE("who only waited for another group before arriving late hands the blame on") {
  const SmallJob::Rooms rooms = chain(3).done();
  REQUIRE(check_invariants(rooms.blame, rooms.decomposition) == "");
  const std::vector<TraceBlame>& traces = rooms.blame.traces;
  // Per round rank 0 waits 30 us for rank 1, and ranks 2 and 3 wait 30 us for the late pair.
  CHECK(traces[0].direct_ns == 3 * 30'000);
  CHECK(traces[1].direct_ns == 3 * 60'000);
  CHECK(traces[0].origin_ns == 0);
  CHECK(traces[1].origin_ns == 3 * 90'000);
  CHECK(of(traces[1].origin_by_cause, LateCause::slower_kernels) == 3 * 90'000);
  // Late across because of a wait in its tensor parallel group: groups 2 and 0.
  REQUIRE(rooms.blame.flows.size() == 1);
  CHECK(rooms.blame.flows[0].victim == TraceIndex(0));
  CHECK(rooms.blame.flows[0].late_in == CommunicatorId(2));
  CHECK(rooms.blame.flows[0].waited_in == CommunicatorId(0));
  CHECK(rooms.blame.flows[0].moved_ns == 3 * 30'000);
}

TEST_CASE("the book of the last to arrive sums to its lateness against the member in the middle") {
  const SmallJob::Rooms rooms = chain(1).done();
  // Last in its tensor and its data parallel group, 30 us each time since all last met.
  CHECK(of(rooms.blame.traces[1].lateness_by_cause, LateCause::slower_kernels) == 60'000);
  // Rank 0 was last once, by what it had waited for rank 1.
  CHECK(of(rooms.blame.traces[0].lateness_by_cause, LateCause::wait_elsewhere) == 30'000);
}

TEST_CASE("more kernels and a late host are told apart from slower kernels") {
  SmallJob job(3);
  const CommunicatorId all = job.group({0, 1, 2});
  job.meet(all, 5);
  for (int32_t r = 0; r < 3; ++r) job.work(r, 50);
  job.work(1, 20, "recompute");
  job.meet(all, 5);
  for (int32_t r = 0; r < 3; ++r) job.work(r, 50, "gemm", r == 2 ? 40 : 0);
  job.meet(all, 5);
  for (int32_t r = 0; r < 3; ++r) job.work(r, r == 0 ? 65 : 50);
  job.meet(all, 5);
  const SmallJob::Rooms rooms = job.done();
  REQUIRE(check_invariants(rooms.blame, rooms.decomposition) == "");
  CHECK(of(rooms.blame.traces[1].lateness_by_cause, LateCause::other_kernels) == 20'000);
  CHECK(of(rooms.blame.traces[2].lateness_by_cause, LateCause::host) == 40'000);
  CHECK(of(rooms.blame.traces[0].lateness_by_cause, LateCause::slower_kernels) == 15'000);
  CHECK(rooms.blame.traces[1].origin_ns == 2 * 20'000);
  CHECK(of(rooms.blame.traces[2].origin_by_cause, LateCause::host) == 2 * 40'000);
}

TEST_CASE("the first collective of a window has nothing to compare with") {
  SmallJob job(2);
  const CommunicatorId all = job.group({0, 1});
  job.work(0, 10);
  job.work(1, 40);
  job.meet(all, 5);
  const SmallJob::Rooms rooms = job.done();
  CHECK(rooms.blame.traces[1].origin_ns == 30'000);
  CHECK(of(rooms.blame.traces[1].origin_by_cause, LateCause::unknown) == 30'000);
}

TEST_CASE("blame finds the one long wait in front of hundreds of short ones") {
  SmallJob job(6);
  const CommunicatorId tensor[] = {job.group({0, 1, 2}), job.group({3, 4, 5})};
  const CommunicatorId data = job.group({0, 3});
  job.meet(data, 5);
  for (int call = 0; call < 300; ++call) {
    for (int32_t r = 0; r < 6; ++r) job.work(r, 10);
    if (call == 0) job.work(1, 3000);
    if (call > 0) job.work(2, 1);
    for (const CommunicatorId group : tensor) job.meet(group, 5);
  }
  job.meet(data, 5);
  const SmallJob::Rooms rooms = job.done();
  REQUIRE(check_invariants(rooms.blame, rooms.decomposition) == "");
  const std::vector<TraceBlame>& traces = rooms.blame.traces;
  REQUIRE(traces[0].direct_ns > 3'290'000);  // rank 3 waited for it, which was held up by ranks 1 and 2
  CHECK(traces[0].origin_ns < 3'000);
  CHECK(traces[1].origin_ns - traces[1].direct_ns >= traces[0].direct_ns - 3'000);
  CHECK(traces[2].origin_ns == traces[2].direct_ns);
}

TEST_CASE("whatever ranks do, origins sum to the direct charges to the nanosecond") {
  std::mt19937 random(11);
  const auto pick = [&](unsigned n) { return static_cast<int32_t>(random() % n); };
  for (int trial = 0; trial < 40; ++trial) {
    SmallJob job(6);
    const std::vector<CommunicatorId> groups = {job.group({0, 1, 2}), job.group({3, 4, 5}),
                                                job.group({0, 3}),    job.group({1, 4}),
                                                job.group({2, 5}),    job.group({0, 1, 2, 3, 4, 5})};
    for (int i = 0; i < 60; ++i) {
      if (pick(3) > 0) {
        job.work(pick(6), 1 + pick(50) + 0.001 * pick(1000), pick(2) ? "gemm" : "norm", pick(4) ? 0 : 12);
      } else {
        job.meet(groups[static_cast<size_t>(pick(6))], 1 + pick(5), pick(3) == 0);
      }
    }
    const SmallJob::Rooms rooms = job.done();
    CAPTURE(trial);
    CHECK(check_invariants(rooms.decomposition, rooms.instances, rooms.job) == "");
    CHECK(check_invariants(rooms.blame, rooms.decomposition) == "");
  }
}

TEST_CASE("blame is the same where each trace forgets its launches when blame has read them, which is once") {
  SmallJob job = chain(3);
  job.work(2, 50, "late", 400);  // only a launch tells that the idling in front of it is the host's
  job.meet(CommunicatorId(4), 5);
  SmallJob::Rooms rooms = job.done();
  std::vector<std::atomic<int>> read(rooms.job.traces.size());
  const Blame blame =
      find_blame(rooms.job, rooms.instances, rooms.clocks, rooms.decomposition, alone(), [&](TraceIndex trace) {
        forget_launches(rooms.job.traces[trace.index()]);
        ++read[trace.index()];
      });
  for (size_t t = 0; t < read.size(); ++t) {
    CHECK(read[t] == 1);
    CHECK(rooms.job.traces[t].launches.size() == 0);
    CHECK(rooms.job.traces[t].gpu.launch.empty());
    CHECK(blame.traces[t].direct_ns == rooms.blame.traces[t].direct_ns);
    CHECK(blame.traces[t].origin_by_cause == rooms.blame.traces[t].origin_by_cause);
    CHECK(blame.traces[t].lateness_by_cause == rooms.blame.traces[t].lateness_by_cause);
  }
  CHECK(of(blame.traces[2].lateness_by_cause, LateCause::host) > 0);
  CHECK(blame.replay.replayed_ns == rooms.blame.replay.replayed_ns);
  CHECK(blame.replay.balanced_ns == rooms.blame.replay.balanced_ns);
}
