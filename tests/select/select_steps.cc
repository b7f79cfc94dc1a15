// Which calls --steps keeps, by hand: times in microseconds.
#include <catch2/catch.hpp>

#include "skewscope/select.h"
#include "tests/job_builder.h"

using namespace skewscope;

namespace {

// Two ranks, an all-reduce in each of two steps of 100 us; what rank 1 launches last belongs to the other's next step.
struct Job {
  JobTrace job;
  InstanceTable table;
  ClockModel clocks;

  explicit Job(int64_t step_of_second_on_rank_2) {
    JobBuilder b(3);
    const CommunicatorId world = b.communicator("world", {0, 1, 2});
    for (int32_t rank = 0; rank < 3; ++rank) {
      for (int64_t step = 1; step <= 2; ++step) {
        const auto begin = static_cast<double>(100 * step);
        b.call(rank, world, begin + 10, begin + 20).step = rank == 2 && step == 2 ? step_of_second_on_rank_2 : step;
        b.trace(rank).steps.push_back({step, LocalNs{100'000 * step}, 90'000});
      }
    }
    b.done();
    job = std::move(b.job);
    for (int32_t n = 0; n < 2; ++n) {
      CollectiveInstance i;
      i.communicator = world;
      i.session = SessionId(0);
      i.kind = CollectiveKind::all_reduce;
      i.ordinal = n;
      i.first_member = static_cast<uint32_t>(3 * n);
      i.member_count = 3;
      i.expected = 3;
      i.complete = true;
      table.instances.push_back(i);
      for (int64_t t = 0; t < 3; ++t) table.members.push_back({TraceIndex(t), n});
    }
    set_spans(table, job);
    table.communicators = job.communicators;
    clocks.clocks.resize(3);
    for (TraceClock& clock : clocks.clocks) clock.component = 0;
    clocks.reference_ns = 100'000;
    clocks.window_ns = 120'000;
  }

  Result<Done> select(StepNumbers steps) { return select_steps(steps, job, table, clocks); }
};

}  // namespace

TEST_CASE("a collective that one member launched in another step is whole in the step of most") {
  for (const auto& [step, instances] : {std::pair(1, 1), std::pair(2, 1)}) {
    Job one(1);
    REQUIRE(one.select({step, step + 1}).ok());
    REQUIRE(std::ssize(one.table.instances) == instances);
    CHECK(one.table.instances[0].member_count == 3);
    CHECK(one.table.instances[0].ordinal == 0);
    CHECK(check_invariants(one.job) == "");
    CHECK(check_invariants(one.table, one.job) == "");
    for (const RankTrace& trace : one.job.traces) CHECK(trace.calls.size() == 1);
  }
}

TEST_CASE("the window of some steps begins with their first event, and clocks are written around it") {
  Job one(2);
  one.clocks.clocks[1].method = ClockMethod::line;
  one.clocks.clocks[1].drift_ppb = 1e6;  // 1 ns in a us
  one.clocks.clocks[1].offset_ns = 500;
  const LocalNs stamp{210'000};
  const JobNs before = one.clocks.to_job(TraceIndex(1), stamp);
  REQUIRE(one.select({2, 3}).ok());
  CHECK(one.clocks.to_job(TraceIndex(1), stamp) == before);
  CHECK(one.clocks.reference_ns == one.clocks.to_job(TraceIndex(1), LocalNs{200'000}).ns);
  CHECK(one.clocks.window_ns < 92'000);
}

TEST_CASE("a trace that has none of the steps stays, without rows and within the window") {
  Job one(2);
  one.job.traces[2].steps.pop_back();
  one.table.members.pop_back();
  one.table.spans.pop_back();
  one.table.instances[1].member_count = 2;
  one.table.instances[1].complete = false;
  one.job.traces[2].calls.pop_back();
  REQUIRE(one.select({2, 3}).ok());
  CHECK(one.job.traces[2].calls.empty());
  CHECK(one.job.traces[2].first_event == LocalNs{one.clocks.reference_ns});
  CHECK(one.clocks.window_ns == 90'000);
}

TEST_CASE("steps that no trace has are no input, and those recorded are named") {
  Job one(2);
  const auto none = one.select({7, 9});
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().kind == ErrorKind::no_input);
  CHECK(none.error().message.find("recorded steps are 1 to 2") != std::string::npos);
}
