#include <catch2/catch.hpp>

#include "../job_builder.h"
#include "skewscope/summarize.h"

using namespace skewscope;

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
