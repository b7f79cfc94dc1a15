// What the profiler did itself, and whose kernels are whose. Times in microseconds.
#include "src/summarize/gpu/profiler_work.h"

#include <catch2/catch.hpp>

#include "detail_builder.h"
#include "skewscope/summarize.h"
#include "src/summarize/gpu/kernel_library.h"

using namespace skewscope;
using namespace skewscope::summarize;
using test::DetailBuilder;

namespace {

int32_t flush_in(const DetailBuilder& b) { return final_flush(b.trace, b.detail.host, b.strings); }

DetailBuilder launched_kernel() {
  DetailBuilder b;
  b.op("aten::mm", 0, 20);
  b.gpu(b.call("cudaLaunchKernel", 5, 10), "gemm", 12, 30);
  return b;
}

}  // namespace

TEST_CASE("the wait for the device behind all that a trace holds is the profiler's") {
  DetailBuilder b = launched_kernel();
  const int32_t flush = b.call("cudaDeviceSynchronize", 25, 31);
  b.finish();
  CHECK(flush_in(b) == static_cast<int32_t>(b.row(flush)));
  const RankTables tables = tabulate_trace(b.trace, b.strings, &b.detail);
  const auto call = std::find_if(tables.calls.begin(), tables.calls.end(), [](const auto& c) { return c.waits; });
  REQUIRE(call != tables.calls.end());
  CHECK(call->count == 1);
  CHECK(call->profiler_calls == 1);
  CHECK(call->profiler_ns == 6'000);
  CHECK(call->in_steps == 0);  // though the trace has no steps
}

TEST_CASE("a wait of the program's own is none of the profiler's") {
  SECTION("in a step") {
    DetailBuilder b = launched_kernel();
    b.call("cudaDeviceSynchronize", 25, 31);
    b.trace.steps.push_back({1, LocalNs{0}, 40'000});
    b.finish();
    CHECK(flush_in(b) == -1);
  }
  SECTION("in an operator, or in a range of the user") {
    DetailBuilder b = launched_kernel();
    b.annotation("timed", 24, 32);
    b.call("cudaDeviceSynchronize", 25, 31);
    b.finish();
    CHECK(flush_in(b) == -1);
  }
  SECTION("ahead of further work") {
    DetailBuilder b = launched_kernel();
    b.call("cudaDeviceSynchronize", 25, 31);
    b.op("aten::add", 40, 50);
    b.finish();
    CHECK(flush_in(b) == -1);
  }
}

TEST_CASE("what of delays and gaps the profiler's buffers explain is known") {
  DetailBuilder b;
  b.gpu(b.call("cudaLaunchKernel", 0, 10), "gemm", 12, 20);
  b.gpu(b.call("cudaLaunchKernel", 20, 30), "gemm", 100, 110);
  const int32_t buffer = b.call("Activity Buffer Request", 40, 90, 1);
  b.finish();
  b.detail.host.kind[b.row(buffer)] = HostKind::overhead;
  const RankTables tables = tabulate_trace(b.trace, b.strings, &b.detail);
  CHECK(tables.launches.profiler_rows == 1);
  CHECK(tables.launches.profiler_delay_ns == 50'000);
  CHECK(tables.timeline.front().profiler_idle_ns == 50'000);
  CHECK(tabulate_trace(b.trace, b.strings).launches.profiler_rows == -1);  // not known without details
}

TEST_CASE("a kernel's library is known by its name") {
  CHECK(kernel_library("ampere_sgemm_128x64_tn") == "cuBLAS");
  CHECK(kernel_library("void gemmSN_TN_kernel<float, 128, 16, 2>(int)") == "cuBLAS");
  CHECK(kernel_library("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n") == "cuBLAS");
  CHECK(kernel_library("void cudnn::bn_bw_1C11_kernel_new<float>(float)") == "cuDNN");
  CHECK(kernel_library("void at::native::vectorized_elementwise_kernel<4>(int)") == "PyTorch");
  CHECK(kernel_library("ncclDevKernel_AllReduce_Sum_f32_RING_LL") == "NCCL");
  CHECK(kernel_library("Cijk_Ailk_Bljk_SB_MT64x64x16") == "hipBLAS");
  CHECK(kernel_library("triton_poi_fused_add_0") == "Triton");
  CHECK(kernel_library("my_kernel").empty());
  CHECK(kernel_library("Memcpy DtoD (Device -> Device)").empty());
}
