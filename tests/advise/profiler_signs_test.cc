// Signs about the data loader and the profiler itself, each on a trace that shows it and on one that just does not.
#include <catch2/catch.hpp>

#include "skewscope/advise.h"

using namespace skewscope;

namespace {

// A window of 1 ms, idle for 900 us; operators take 1 ms on the host and 50 us on the GPU.
struct IdleTrace {
  RankTables tables;
  OperatorTables operators;

  IdleTrace() {
    TimelineRow whole;
    whole.gpu_rows = 100;
    whole.timeline = {1'000'000, 100'000, 0, 0, 0, 0, 100'000, 900'000, 0, 0, 0};
    tables.timeline = {whole};
    tables.detailed = true;
    OperatorRow mm;
    mm.name = "aten::mm";
    mm.calls = 10;
    mm.host_self_ns = mm.host_total_ns = 600'000;
    mm.device_self_ns = 50'000;
    operators.operators = {mm};
  }

  const Advice* advice(const std::string& code) {
    found = advice_on(tables, operators, built_in_rules());
    const auto one = std::find_if(found.begin(), found.end(), [&](const Advice& a) { return a.code == code; });
    return one == found.end() ? nullptr : &*one;
  }
  std::vector<Advice> found;
};

}  // namespace

TEST_CASE("the profiler's wait for the GPU at the end is no evidence of overhead") {
  IdleTrace t;
  OperatorRow sync = t.operators.operators[0];
  sync.name = "cudaDeviceSynchronize";
  sync.calls = 1;
  sync.host_self_ns = sync.host_total_ns = 5'000'000;
  sync.device_self_ns = 0;
  t.operators.operators.push_back(sync);
  HostCallTotals call;
  call.name = "cudaDeviceSynchronize";
  call.count = 1;
  call.waits = true;
  call.total_ns = 5'000'000;
  t.tables.calls = {call};
  const Advice* overhead = t.advice("overhead-bound");
  REQUIRE(overhead != nullptr);
  CHECK(overhead->evidence[0].what == "cudaDeviceSynchronize on the host");
  CHECK(overhead->sign.find("112 times as long") != std::string::npos);
  t.tables.calls[0].profiler_calls = 1;
  t.tables.calls[0].profiler_ns = 5'000'000;
  overhead = t.advice("overhead-bound");
  REQUIRE(overhead != nullptr);  // operators take 12 times as long on the host
  CHECK(overhead->evidence[0].what == "aten::mm on the host");
  CHECK(overhead->sign.find("12 times as long") != std::string::npos);
}

TEST_CASE("a program that waits for its data loader while nothing else runs is named") {
  IdleTrace t;
  ExecutionRow step;
  step.step = 4;
  step.length_ns = 1'000'000;
  step.parts_ns[static_cast<size_t>(ExecutionPart::data_loader)] = 60'000;
  t.operators.execution = {step};
  const Advice* loading = t.advice("data-loading");
  REQUIRE(loading != nullptr);
  CHECK(loading->saves_at_most_ns == 60'000);
  CHECK(loading->evidence[0].what == "step 4");
  t.operators.execution[0].parts_ns[static_cast<size_t>(ExecutionPart::data_loader)] = 40'000;
  CHECK(t.advice("data-loading") == nullptr);
}

TEST_CASE("a gap in which the profiler refilled its buffers is named by its step") {
  IdleTrace t;
  HostCallTotals buffers;
  buffers.name = "Activity Buffer Request";
  buffers.count = 1;
  buffers.total_ns = 200'000;
  t.tables.overheads = {buffers};
  TimelineRow step = t.tables.timeline[0];
  step.step = 7;
  step.profiler_idle_ns = 150'000;
  t.tables.timeline[0].profiler_idle_ns = 150'000;
  t.tables.timeline.push_back(step);
  t.tables.launches.profiler_rows = 3;
  const Advice* advice = t.advice("profiler-buffers");
  REQUIRE(advice != nullptr);
  CHECK(advice->information);
  CHECK(advice->sign ==
        "the profiler spent 200 us on its buffers, in 1 event; the GPU was idle for 150 us meanwhile; kernels "
        "launched before that waited meanwhile: 3");
  CHECK(advice->evidence[1].what == "gap in step 7");
}
