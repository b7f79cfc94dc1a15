// Steps of a job of two ranks, in nanoseconds of one clock.
#include <catch2/catch.hpp>
#include <vector>

#include "skewscope/attribute.h"
#include "src/attribute/step_parts.h"

using namespace skewscope;
using namespace skewscope::attribute;

namespace {

void add_row(RankTrace& trace, GpuWork work, int64_t start, int64_t end) {
  trace.gpu.start.push_back(LocalNs{start});
  trace.gpu.duration_ns.push_back(end - start);
  trace.gpu.work.push_back(work);
}

void add_call(int64_t start, int64_t wait_ns, int64_t transfer_ns, int64_t unattributed_ns,
              std::vector<LabelEdge>& edges) {
  CallParts parts;
  parts.wait_ns = wait_ns;
  parts.transfer_ns = transfer_ns;
  parts.unattributed_ns = unattributed_ns;
  add_edges(LocalNs{start}, parts, edges);
}

void check(const StepParts& p, int64_t compute, int64_t transfer, int64_t wait, int64_t unsplit, int64_t copy,
           int64_t idle) {
  CHECK(p.compute_ns == compute);
  CHECK(p.exposed_transfer_ns == transfer);
  CHECK(p.exposed_wait_ns == wait);
  CHECK(p.exposed_unattributed_ns == unsplit);
  CHECK(p.exposed_memcpy_ns == copy);
  CHECK(p.idle_ns == idle);
}

JobTrace two_ranks(std::vector<StepRange> first, std::vector<StepRange> second) {
  JobTrace job;
  job.traces.resize(2);
  for (RankTrace& trace : job.traces) trace.session = SessionId(0);
  job.traces[0].steps = std::move(first);
  job.traces[1].steps = std::move(second);
  return job;
}

ClockModel one_clock() {
  ClockModel clocks;
  clocks.clocks.resize(2);
  for (TraceClock& clock : clocks.clocks) clock.component = 0;
  return clocks;
}

}  // namespace

TEST_CASE("computing hides transfer, transfer hides waiting, waiting hides unsplit calls, these hide copies") {
  RankTrace trace;
  add_row(trace, GpuWork::compute, 0, 100);
  add_row(trace, GpuWork::memcpy, 50, 700);
  const BusyIntervals busy(trace.gpu);
  std::vector<LabelEdge> edges = copy_edges(trace.gpu, 0);
  add_call(80, 120, 100, 0, edges);  // [80,300): waiting 80-200, transfer 200-300
  add_call(150, 0, 100, 0, edges);   // [150,250): transfer
  add_call(280, 0, 0, 120, edges);   // [280,400): unsplit
  const StepLabels labels(std::move(edges), busy);
  // 0-100 computing, 100-150 wait, 150-300 transfer, 300-400 unsplit, 400-700 copy, 700-1000 idle.
  check(labels.between(LocalNs{0}, LocalNs{1000}), 100, 150, 50, 100, 300, 300);
  check(labels.between(LocalNs{120}, LocalNs{320}), 0, 150, 30, 20, 0, 0);
  check(labels.between(LocalNs{320}, LocalNs{320}), 0, 0, 0, 0, 0, 0);
  CHECK(labels.between(LocalNs{7}, LocalNs{905}).sum_ns() == 905 - 7);
}

TEST_CASE("a step of ranks on two clocks that nobody compared is that of the longest") {
  JobTrace job = two_ranks({{7, LocalNs{0}, 100}}, {{7, LocalNs{5'000}, 95}});
  job.traces[0].last_event = LocalNs{100};
  job.traces[1].first_event = LocalNs{5'000};
  job.traces[1].last_event = LocalNs{5'095};
  ClockModel clocks = one_clock();
  clocks.clocks[1].component = 1;
  const auto steps = attribute_time(job, InstanceTable(), clocks).steps;
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].start.ns == 0);
  CHECK(steps[0].duration_ns == 100);
  CHECK(steps[0].traces == 1);
}

TEST_CASE("without a GPU, a step of the job lasts from the last rank's end of the one before to the last rank's end") {
  const JobTrace job =
      two_ranks({{7, LocalNs{0}, 100}, {8, LocalNs{110}, 90}}, {{7, LocalNs{10}, 95}, {8, LocalNs{105}, 80}});
  const auto steps = attribute_time(job, InstanceTable(), one_clock()).steps;
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].number == 7);
  CHECK(steps[0].start.ns == 10);  // both have begun
  CHECK(steps[0].duration_ns == 105 - 10);
  CHECK(steps[1].start.ns == 105);
  CHECK(steps[1].duration_ns == 200 - 105);
  CHECK(steps[1].traces == 2);
  CHECK(steps[1].host_start.ns == 105);  // the first host began it
  CHECK(steps[1].host_duration_ns == 200 - 105);
}

TEST_CASE("a gap in the numbers of steps belongs to none of them, and a rank that lacks a step is not counted") {
  const JobTrace job = two_ranks({{1, LocalNs{0}, 100}, {5, LocalNs{500}, 100}}, {{5, LocalNs{480}, 100}});
  const auto steps = attribute_time(job, InstanceTable(), one_clock()).steps;
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].traces == 1);
  CHECK(steps[1].start.ns == 500);
  CHECK(steps[1].duration_ns == 100);
}

TEST_CASE("without a GPU, a rank's own steps are its host's and leave nothing out, whatever order they overlap in") {
  RankTrace trace;
  trace.steps = {{3, LocalNs{0}, 100}, {4, LocalNs{90}, 5}, {5, LocalNs{130}, 20}};
  const auto steps = host_step_spans(trace);
  REQUIRE(steps.size() == 3);
  CHECK(steps[1].begin.ns == 100);
  CHECK(steps[1].end.ns == 100);
  CHECK(steps[2].begin.ns == 100);
  CHECK(steps[2].end.ns == 150);
}

TEST_CASE("a trace has rows for the steps that it recorded, and for no others") {
  JobTrace job = two_ranks({{1, LocalNs{0}, 100}, {2, LocalNs{100}, 50}}, {{2, LocalNs{1000}, 70}});
  job.traces[1].session = SessionId(1);  // another capture
  const Decomposition d = attribute_time(job, InstanceTable(), one_clock());
  REQUIRE(d.steps.size() == 3);
  REQUIRE(d.trace_steps.size() == 3);
  for (const size_t row : {0U, 1U, 2U}) {
    CHECK(d.trace_steps[row].step == static_cast<int32_t>(row));
    CHECK(d.trace_steps[row].trace.value == (row < 2 ? 0 : 1));
  }
  CHECK(d.trace_steps[1].parts.idle_ns == 50);
  CHECK(d.trace_steps[2].parts.idle_ns == 70);
}

namespace {

// Launched at `launch`; -1: before recording began.
void add_launched(RankTrace& trace, int64_t launch, int64_t start, int64_t end) {
  add_row(trace, GpuWork::compute, start, end);
  trace.gpu.device.push_back(0);
  trace.gpu.stream.push_back(7);
  trace.gpu.launch.push_back(launch < 0 ? -1 : static_cast<int32_t>(trace.launches.start.size()));
  if (launch < 0) return;
  trace.launches.start.push_back(LocalNs{launch});
  trace.launches.duration_ns.push_back(1);
  trace.launches.thread.push_back(1);
}

}  // namespace

TEST_CASE("a step of the job lasts from the last rank's end of the one before on the GPU, wherever the hosts are") {
  JobTrace job = two_ranks({{7, LocalNs{0}, 10}, {8, LocalNs{10}, 10}}, {{7, LocalNs{0}, 10}, {8, LocalNs{10}, 10}});
  add_launched(job.traces[0], 1, 100, 150);
  add_launched(job.traces[0], 11, 180, 260);
  add_launched(job.traces[1], 1, 110, 170);
  add_launched(job.traces[1], 11, 170, 240);
  const Decomposition d = attribute_time(job, InstanceTable(), one_clock());
  CHECK(d.step_basis == StepBasis::gpu);
  REQUIRE(d.steps.size() == 2);
  CHECK(d.steps[0].start.ns == 110);  // both have begun
  CHECK(d.steps[0].duration_ns == 170 - 110);
  CHECK(d.steps[1].duration_ns == 260 - 170);
  CHECK(d.steps[1].rows == 2);
  CHECK(d.steps[1].host_start.ns == 10);
  CHECK(d.steps[1].host_duration_ns == 10);
  REQUIRE(d.trace_steps.size() == 4);
  check(d.trace_steps[2].parts, 80, 0, 0, 0, 0, 30);  // trace 0, step 8: idle from 150 to 180
  check(d.trace_steps[3].parts, 70, 0, 0, 0, 0, 0);
  CHECK(d.trace_rests.empty());
}

TEST_CASE("what of a GPU's window is in no step is labelled by place, and with the steps sums to the window") {
  JobTrace job = two_ranks({{7, LocalNs{0}, 10}}, {});
  add_launched(job.traces[0], -1, 50, 80);
  add_launched(job.traces[0], 1, 100, 150);
  add_launched(job.traces[0], 15, 180, 260);
  const Decomposition d = attribute_time(job, InstanceTable(), one_clock());
  REQUIRE(d.trace_steps.size() == 1);
  check(d.trace_steps[0].parts, 50, 0, 0, 0, 0, 0);
  REQUIRE(d.trace_rests.size() == 2);
  CHECK(d.trace_rests[0].place == StepPlace::before);
  check(d.trace_rests[0].parts, 30, 0, 0, 0, 0, 20);
  CHECK(d.trace_rests[0].rows == 1);
  CHECK(d.trace_rests[1].place == StepPlace::after);
  check(d.trace_rests[1].parts, 80, 0, 0, 0, 0, 30);
  CHECK(d.trace_rests[1].rows == 1);
}

TEST_CASE("of a job with a GPU, a rank that launched nothing has no step") {
  JobTrace job = two_ranks({{7, LocalNs{0}, 10}}, {{7, LocalNs{0}, 10}});
  add_launched(job.traces[0], 1, 100, 150);
  const Decomposition d = attribute_time(job, InstanceTable(), one_clock());
  REQUIRE(d.steps.size() == 1);
  CHECK(d.steps[0].traces == 1);
}
