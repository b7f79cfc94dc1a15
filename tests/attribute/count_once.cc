// Exposed time of calls that overlap, in nanoseconds of one rank.
#include "src/attribute/count_once.h"

#include <catch2/catch.hpp>
#include <random>

#include "src/attribute/step_parts.h"

using namespace skewscope;
using namespace skewscope::attribute;

namespace {

void add_row(GpuEvents& gpu, int64_t start, int64_t end) {
  gpu.start.push_back(LocalNs{start});
  gpu.duration_ns.push_back(end - start);
  gpu.work.push_back(GpuWork::compute);
}

// As split_parts() of attribute_time.cc: each call for itself.
TimedParts call(int64_t start, int64_t wait_ns, int64_t transfer_ns, int64_t unattributed_ns,
                const BusyIntervals& busy) {
  TimedParts call{LocalNs{start}, {}};
  call.parts.wait_ns = wait_ns;
  call.parts.transfer_ns = transfer_ns;
  call.parts.unattributed_ns = unattributed_ns;
  const LocalNs middle{start + wait_ns};
  call.parts.exposed_wait_ns = wait_ns - busy.covered_ns(call.start, middle);
  call.parts.exposed_transfer_ns = transfer_ns - busy.covered_ns(middle, middle + transfer_ns);
  call.parts.exposed_unattributed_ns = unattributed_ns - busy.covered_ns(call.start, call.start + unattributed_ns);
  return call;
}

void check(const CallParts& p, int64_t wait, int64_t transfer, int64_t unattributed) {
  CHECK(p.exposed_wait_ns == wait);
  CHECK(p.exposed_transfer_ns == transfer);
  CHECK(p.exposed_unattributed_ns == unattributed);
}

}  // namespace

TEST_CASE("an exposed nanosecond of several calls is the transfer's, and among transfers the one's that began first") {
  GpuEvents gpu;
  add_row(gpu, 0, 100);
  const BusyIntervals busy(gpu);
  std::vector<TimedParts> calls = {
      call(80, 120, 100, 0, busy),  // waits 80-200, 80-100 behind computation; transfers 200-300
      call(150, 0, 100, 0, busy),   // transfers 150-250
      call(280, 0, 0, 120, busy),   // not told apart 280-400
      call(500, 10, 20, 0, busy)};  // alone
  count_once(calls, busy);
  check(calls[0].parts, 50, 50, 0);  // waiting 100-150; then the second transfers, until 250 it is the first to
  check(calls[1].parts, 0, 100, 0);
  check(calls[2].parts, 0, 0, 100);  // from 300 on
  check(calls[3].parts, 10, 20, 0);
}

TEST_CASE("of two calls that wait at once the one that came first waits; the other only for what is left") {
  const GpuEvents gpu;
  const BusyIntervals busy(gpu);
  std::vector<TimedParts> calls = {call(20, 100, 0, 0, busy), call(0, 60, 0, 0, busy)};
  count_once(calls, busy);
  check(calls[0].parts, 60, 0, 0);
  check(calls[1].parts, 60, 0, 0);
}

TEST_CASE("exposed parts of calls that are counted once sum to the labels of the whole, for any calls") {
  std::mt19937 random(11);
  const auto up_to = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1)); };
  for (int round = 0; round < 200; ++round) {
    GpuEvents gpu;
    int64_t now = 0;
    for (int i = 0; i < 20; ++i) {
      const int64_t start = now + up_to(60);
      now = start + up_to(60);
      add_row(gpu, start, now);
    }
    const BusyIntervals busy(gpu);
    std::vector<TimedParts> calls;
    std::vector<LabelEdge> edges;
    for (int i = 0; i < 25; ++i) {
      const bool split = random() % 4 != 0;
      calls.push_back(call(up_to(1500), split ? up_to(90) : 0, split ? up_to(90) : 0, split ? 0 : up_to(90), busy));
      add_edges(calls.back().start, calls.back().parts, edges);
    }
    const std::vector<TimedParts> before = calls;
    count_once(calls, busy);
    CallParts sum;
    for (size_t i = 0; i < calls.size(); ++i) {
      const CallParts &p = calls[i].parts, &own = before[i].parts;
      REQUIRE(p.duration_ns() == own.duration_ns());
      REQUIRE((p.exposed_wait_ns >= 0 && p.exposed_wait_ns <= own.exposed_wait_ns));
      REQUIRE((p.exposed_transfer_ns >= 0 && p.exposed_transfer_ns <= own.exposed_transfer_ns));
      REQUIRE((p.exposed_unattributed_ns >= 0 && p.exposed_unattributed_ns <= own.exposed_unattributed_ns));
      sum.exposed_wait_ns += p.exposed_wait_ns;
      sum.exposed_transfer_ns += p.exposed_transfer_ns;
      sum.exposed_unattributed_ns += p.exposed_unattributed_ns;
    }
    const StepParts whole = StepLabels(std::move(edges), busy).between(LocalNs{0}, LocalNs{10'000});
    REQUIRE(sum.exposed_transfer_ns == whole.exposed_transfer_ns);
    REQUIRE(sum.exposed_wait_ns == whole.exposed_wait_ns);
    REQUIRE(sum.exposed_unattributed_ns == whole.exposed_unattributed_ns);
  }
}
