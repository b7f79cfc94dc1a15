#include <catch2/catch.hpp>

#include "../../src/attribute/wait_bar.h"
#include "../job_builder.h"
#include "skewscope/attribute.h"

using namespace skewscope;

namespace {

// Two ranks, one all-reduce: rank 0 waits 100 us for rank 1, the transfer takes 20 us; both leave together.
struct Pair {
  JobBuilder builder{2};
  InstanceTable table;
  ClockModel clocks;

  explicit Pair(double off_us = 0) {
    const CommunicatorId c = builder.communicator("world", {0, 1});
    builder.call(0, c, 0, 120);
    builder.call(1, c, 100 + off_us, 120 + off_us);
    CollectiveInstance i;
    i.communicator = c;
    i.session = SessionId(0);
    i.kind = CollectiveKind::all_reduce;
    i.bytes = 4096;
    i.member_count = 2;
    i.expected = 2;
    i.complete = true;
    table.instances.push_back(i);
    table.members = {{TraceIndex(0), 0}, {TraceIndex(1), 0}};
    table.communicators = builder.job.communicators;
    for (TraceClock& clock : set_clocks()) {
      clock.component = 0;
      clock.aligned = true;
    }
  }

  std::vector<TraceClock>& set_clocks() {
    clocks.clocks.resize(2);
    return clocks.clocks;
  }

  void tie(int64_t bar_ns, int64_t end_difference_ns) {
    const CollectiveInstance& i = table.instances[0];
    clocks.ties.push_back({i.session, i.communicator, i.kind, i.bytes, bar_ns, end_difference_ns});
  }

  Decomposition split() {
    set_spans(table, builder.done());
    return attribute_time(builder.job, table, clocks);
  }
};

}  // namespace

TEST_CASE("with good clocks the wait rests on them, and carries their bar") {
  Pair pair;
  pair.tie(3'000, 5'000);
  const Decomposition d = pair.split();
  CHECK(d.instances[0].basis == SplitBasis::clocks);
  CHECK(d.instances[0].wait_bar_ns == 3'000);
  CHECK(d.members[0].wait_ns == 100'000);
  CHECK(d.instances[0].note == SplitNote::none);
}

TEST_CASE("where clocks err more than twice as much as ends scatter, durations tell the wait") {
  Pair pair(15);  // the second clock is 15 us ahead, which its bar allows
  pair.tie(40'000, 5'000);
  const Decomposition d = pair.split();
  CHECK(d.instances[0].basis == SplitBasis::durations);
  CHECK(d.instances[0].wait_bar_ns == 5'000);
  CHECK(d.members[0].wait_ns == 100'000);
  CHECK(d.members[1].wait_ns == 0);
  CHECK(d.instances[0].transfer_ns == 20'000);
}

TEST_CASE("an incomplete instance never rests on durations: the last may be missing") {
  Pair pair;
  pair.tie(40'000, 5'000);
  pair.table.instances[0].expected = 3;
  pair.table.instances[0].complete = false;
  const Decomposition d = pair.split();
  CHECK(d.instances[0].basis == SplitBasis::clocks);
  CHECK(d.instances[0].note == SplitNote::incomplete);
}

TEST_CASE("a member that left before the last arrived, by more than clocks err, gets no numbers") {
  Pair pair(500);
  pair.tie(3'000, 5'000);
  const Decomposition d = pair.split();
  CHECK(d.instances[0].reason == SplitReason::causality);
  CHECK(d.members[0].wait_ns == 0);
  CHECK(d.members[0].unattributed_ns == 120'000);
  CHECK(d.instances[0].wait_bar_ns == -1);
}

TEST_CASE("clocks and durations that disagree by more than three deviations are counted") {
  Pair pair(-15);  // ends 15 us apart, where they never are more than 2
  pair.tie(3'000, 2'000);
  const Decomposition d = pair.split();
  CHECK(d.instances[0].contradicted);
  REQUIRE(d.findings.size() == 1);
  CHECK(d.findings[0].code.text() == "split-contradiction");
  CHECK(d.findings[0].count == 1);
}

TEST_CASE("a wait below twice its bar is inconclusive, and says so") {
  Pair pair;
  pair.tie(60'000, 50'000);
  CHECK(pair.split().instances[0].note == SplitNote::inconclusive);
}

TEST_CASE("a call outside the time in which shared ends tie its clock is extrapolated, and says so") {
  Pair pair;
  pair.tie(3'000, 5'000);
  pair.clocks.clocks[1].tied_from = LocalNs{500'000};
  CHECK(pair.split().instances[0].note == SplitNote::extrapolated);
}

TEST_CASE("members of different components are unconnected: nothing is compared") {
  Pair pair;
  pair.clocks.clocks[1].component = 1;
  const Decomposition d = pair.split();
  CHECK(d.instances[0].reason == SplitReason::unconnected);
  CHECK(d.members[0].unattributed_ns == 120'000);
}

TEST_CASE("a clock that drifts during a long call takes nothing from its transfer") {
  // Rank 0 waits 20 s for rank 1, then 300 us pass; its own clock counts 400 us more meanwhile.
  Pair pair;
  pair.builder.trace(0).calls[0].duration_ns = 20'000'700'006;
  pair.builder.trace(1).calls[0].start = LocalNs{20'000'000'000};
  pair.builder.trace(1).calls[0].duration_ns = 300'000;
  pair.clocks.clocks[0].drift_ppb = 20'000;
  pair.tie(3'000, 5'000);
  const Decomposition d = pair.split();
  REQUIRE(d.instances[0].reason == SplitReason::split);
  CHECK(d.members[0].transfer_ns == Approx(300'000).margin(20));
  CHECK(d.members[0].wait_ns + d.members[0].transfer_ns == 20'000'700'006);
  CHECK(d.members[1].transfer_ns == 300'000);
  CHECK(d.caused_ns[1] == d.members[0].wait_ns);
  CHECK_FALSE(d.instances[0].contradicted);
}

TEST_CASE("clocks of unknown error are taken at their word: who left before the last arrived gets no numbers") {
  Pair pair(500);
  const Decomposition d = pair.split();
  CHECK(d.instances[0].reason == SplitReason::causality);
  CHECK(d.members[0].unattributed_ns == 120'000);
}

TEST_CASE("calls that overlap are exposed once") {
  Pair pair;  // and the same once more, on another stream, in another group
  const CommunicatorId other = pair.builder.communicator("other", {0, 1});
  pair.builder.call(0, other, 0, 120);
  pair.builder.call(1, other, 100, 120);
  CollectiveInstance second = pair.table.instances[0];
  second.communicator = other;
  second.first_member = 2;
  pair.table.instances.push_back(second);
  pair.table.members = {{TraceIndex(0), 0}, {TraceIndex(1), 0}, {TraceIndex(0), 1}, {TraceIndex(1), 1}};
  pair.table.communicators = pair.builder.job.communicators;
  const Decomposition d = pair.split();
  CHECK(d.traces[0].parts.wait_ns == 200'000);
  CHECK(d.traces[0].parts.exposed_wait_ns == 100'000);
  CHECK(d.traces[0].parts.transfer_ns == 40'000);
  CHECK(d.traces[0].parts.exposed_transfer_ns == 20'000);
}

TEST_CASE("the transfer time of a send is what its two ends say, not what they share") {
  Pair pair;  // the sender has left 1 us before the receiver came
  pair.builder.trace(0).calls[0].duration_ns = 110'000;
  pair.builder.trace(1).calls[0].start = LocalNs{111'000};
  pair.builder.trace(1).calls[0].duration_ns = 51'000;
  CollectiveInstance& send = pair.table.instances[0];
  send.kind = CollectiveKind::send;
  send.special = 0;
  const Decomposition d = pair.split();
  REQUIRE(d.instances[0].reason == SplitReason::split);
  CHECK(d.instances[0].transfer_ns == 51'000);
}
