#include <catch2/catch.hpp>

#include "../job_builder.h"
#include "skewscope/summarize.h"

using namespace skewscope;

namespace {

// A row of computing, and the call of 1 us that launched it.
void launched_row(JobBuilder& b, double launched_us, double start_us, double end_us) {
  RankTrace& trace = b.trace(0);
  b.gpu_row(0, GpuWork::compute, start_us, end_us);
  trace.gpu.launch.back() = static_cast<int32_t>(trace.launches.size());
  trace.launches.start.push_back(LocalNs{static_cast<int64_t>(launched_us * 1000)});
  trace.launches.duration_ns.push_back(1000);
  trace.launches.thread.push_back(1);
}

}  // namespace

TEST_CASE("the parts of the timeline sum to the window, computation first") {
  JobBuilder b(1);
  b.gpu_row(0, GpuWork::compute, 0, 100);
  b.gpu_row(0, GpuWork::communication, 50, 180);
  b.gpu_row(0, GpuWork::memcpy, 170, 200);
  b.gpu_row(0, GpuWork::memset, 250, 260);
  const RankSummary s = summarize_trace(b.job.traces[0]);
  REQUIRE(s.total_ns == 260'000);
  REQUIRE(s.compute_ns == 110'000);
  REQUIRE(s.communication_ns == 130'000);
  REQUIRE(s.exposed_communication_ns == 80'000);
  REQUIRE(s.exposed_memcpy_ns == 20'000);
  REQUIRE(s.idle_ns == 50'000);
  REQUIRE(s.compute_ns + s.exposed_communication_ns + s.exposed_memcpy_ns + s.idle_ns == s.total_ns);
}

TEST_CASE("overlapping kernels of two streams count once") {
  JobBuilder b(1);
  b.gpu_row(0, GpuWork::compute, 0, 100);
  b.gpu_row(0, GpuWork::compute, 20, 60);
  b.gpu_row(0, GpuWork::compute, 90, 120);
  REQUIRE(summarize_trace(b.job.traces[0]).compute_ns == 120'000);
}

TEST_CASE("rows without a launch are kept and counted") {
  JobBuilder b(1);
  b.gpu_row(0, GpuWork::compute, 0, 30);
  b.gpu_row(0, GpuWork::compute, 30, 50);
  b.job.traces[0].gpu.launch[1] = 0;
  const RankSummary s = summarize_trace(b.job.traces[0]);
  REQUIRE(s.orphan_rows == 1);
  REQUIRE(s.orphan_ns == 30'000);
  REQUIRE(s.compute_ns == 50'000);
}

TEST_CASE("a trace without GPU rows has an empty timeline") { REQUIRE(summarize_trace(RankTrace{}).total_ns == 0); }

TEST_CASE("idle time is told by what ended each gap: a late launch, a slow start, or something else") {
  JobBuilder b(1);
  RankTrace& trace = b.trace(0);
  const auto row = [&](double launched_us, double start_us, double end_us) {
    launched_row(b, launched_us, start_us, end_us);
  };
  row(0, 10, 100);
  row(150, 160, 200);                              // 60 us until the host launched it, and it began
  row(100, 220, 300);                              // launched in time, began 20 us later
  row(120, 400, 500);                              // launched in time, began 100 us later: not for itself
  b.gpu_row(0, GpuWork::compute, 510, 600);        // no launch: it started within 30 us
  b.gpu_row(0, GpuWork::communication, 700, 700);  // no time: the gap goes on
  row(650, 720, 800);                              // 120 us
  const RankSummary s = summarize_trace(trace);
  CHECK(s.idle_ns == 310'000);
  CHECK(s.idle_host_wait_ns == 180'000);
  CHECK(s.idle_kernel_wait_ns == 30'000);
  CHECK(check_invariants(s).empty());
}

TEST_CASE("a collective that ran on the host beside GPU rows is communication, the GPU waits for it") {
  JobBuilder b(1);
  const CommunicatorId group = b.communicator("0", {0});
  b.gpu_row(0, GpuWork::compute, 0, 100);
  b.call(0, group, 104, 150).gpu_row = -1;
  b.gpu_row(0, GpuWork::compute, 150, 200);
  b.call(0, group, 190, 230).gpu_row = -1;  // beside the kernel at first, and the last that ran
  const RankSummary s = summarize_trace(b.job.traces[0]);
  CHECK(s.total_ns == 230'000);
  CHECK(s.compute_ns == 150'000);
  CHECK(s.communication_ns == 86'000);
  CHECK(s.exposed_communication_ns == 76'000);
  CHECK(s.idle_ns == 4'000);
  CHECK(s.idle_host_wait_ns == 4'000);
  CHECK(check_invariants(s).empty());
}

TEST_CASE("the timeline over time sums to the whole, and a gap's cause is that of the gap in each part it crosses") {
  JobBuilder b(1);
  RankTrace& trace = b.trace(0);
  const auto row = [&](double launched_us, double start_us, double end_us) {
    launched_row(b, launched_us, start_us, end_us);
  };
  row(0, 10, 100);
  row(299, 300, 400);  // 200 us until the host launched it
  row(350, 410, 510);  // launched in time
  row(360, 610, 710);  // launched in time, 100 us later
  StringTable strings;
  const std::vector<TimelineBin> bins = tabulate_trace(trace, strings).over_time;
  REQUIRE(bins.size() == 400);
  RankSummary sum;
  for (const TimelineBin& bin : bins) {
    const RankSummary& t = bin.timeline;
    CHECK(t.compute_ns + t.exposed_communication_ns + t.exposed_memcpy_ns + t.idle_ns == t.total_ns);
    sum.total_ns += t.total_ns;
    sum.idle_ns += t.idle_ns;
    sum.idle_host_wait_ns += t.idle_host_wait_ns;
    sum.idle_kernel_wait_ns += t.idle_kernel_wait_ns;
  }
  CHECK(sum.total_ns == 700'000);
  CHECK(sum.idle_ns == 310'000);
  CHECK(sum.idle_host_wait_ns == 200'000);
  CHECK(sum.idle_kernel_wait_ns == 10'000);
  CHECK(bins[100].timeline.idle_host_wait_ns == 1'750);  // wholly within the first gap
  CHECK(bins[100].start_ns - bins[0].start_ns == 175'000);
}
