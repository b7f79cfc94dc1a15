// Kernels that are resident while the one before them on their stream runs.
#include <catch2/catch.hpp>

#include "src/ingest/stamps/repair_gpu_rows.h"
#include "tests/ingest/content_builder.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr const char* kFused = "flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport";

struct Span {
  int64_t start_us, duration_us;
  friend bool operator==(const Span&, const Span&) = default;
};

std::vector<Span> spans_of(const FileContent& content) {
  std::vector<Span> spans;
  for (size_t i = 0; i < content.gpu.size(); ++i) {
    spans.push_back({(content.gpu[i].start - at_us(0)) / 1000, content.gpu[i].duration_ns / 1000});
  }
  return spans;
}

int64_t waiting_kernels(const FileContent& content) {
  for (const Finding& finding : content.findings) {
    if (finding.code.text() == "waiting-kernels") return finding.count;
  }
  return 0;
}

}  // namespace

TEST_CASE("a GEMM behind a waiting all-reduce does its work when that has ended, and a collective arrives then") {
  ContentBuilder b;
  b.kernel("gemm", 0, 48, 10);
  b.kernel(kFused, 46, 411, 11);  // resident while the GEMM still runs
  b.kernel("gemm", 52, 417, 12);  // resident while the all-reduce waits, works 12 us
  b.kernel("gemm", 478, 45, 13);
  repair_gpu_rows(b.content());
  CHECK(spans_of(b.content()) == std::vector<Span>{{0, 48}, {48, 409}, {457, 12}, {478, 45}});
  CHECK(waiting_kernels(b.content()) == 2);
  CHECK(b.content().findings.size() == 1);
  CHECK(b.content().findings[0].severity == Severity::info);
}

TEST_CASE("kernels of one graph, and a chain of three, wait alike") {
  ContentBuilder b;
  b.kernel("a", 0, 100, 5);
  b.kernel("b", 10, 110, 5);
  b.kernel("c", 20, 130, 5);
  repair_gpu_rows(b.content());
  CHECK(spans_of(b.content()) == std::vector<Span>{{0, 100}, {100, 20}, {120, 30}});
  CHECK(waiting_kernels(b.content()) == 2);
}

TEST_CASE("of a chain of four only one works at a time, also where three became resident at one stamp") {
  for (const int64_t apart_us : {2, 0}) {
    INFO(apart_us);
    ContentBuilder b;
    b.kernel("a", 0, 100, 5);
    b.kernel("b", 10, 110, 5);
    b.kernel("c", 10 + apart_us, 140 - apart_us, 5);
    b.kernel("d", 10 + 2 * apart_us, 170 - 2 * apart_us, 5);
    b.kernel("e", 200, 50, 6);  // two branches of a graph begin together on an idle stream
    b.kernel("f", 200, 30, 6);
    repair_gpu_rows(b.content());
    CHECK(spans_of(b.content()) == std::vector<Span>{{0, 100}, {100, 20}, {120, 30}, {150, 30}, {200, 50}, {200, 30}});
    CHECK(waiting_kernels(b.content()) == 3);
  }
}

TEST_CASE("of two computing kernels that overlap by a prologue both keep their rows, and are counted") {
  ContentBuilder b;
  b.kernel("a", 0, 100, 1);
  b.kernel("b", 96, 50, 2);
  b.kernel("c", 140, 50, 3);
  repair_gpu_rows(b.content());
  CHECK(spans_of(b.content()) == std::vector<Span>{{0, 100}, {96, 50}, {146, 44}});
  CHECK(waiting_kernels(b.content()) == 2);
}

TEST_CASE("other streams and devices, copies, branches within a kernel and rounded stamps wait for nobody") {
  ContentBuilder b;
  b.content().resolution_ns = 1000;
  b.kernel("a", 0, 100, 1);
  b.kernel("other_stream", 10, 200, 2, 8);
  b.kernel("other_device", 20, 200, 3).device = 1;
  b.kernel("Memcpy HtoD", 30, 200, 4).work = GpuWork::memcpy;
  b.kernel("branch", 40, 20, 5);
  b.kernel("next", 99, 50, 6);  // 99.6 to 149.4, in whole microseconds
  const std::vector<Span> before = {{0, 100}, {10, 200}, {20, 200}, {30, 200}, {40, 20}, {99, 50}};
  repair_gpu_rows(b.content());
  CHECK(spans_of(b.content()) == before);
  CHECK(b.content().findings.empty());
}

TEST_CASE("what a kernel waits is not in the sums by which ranks compare their kernels") {
  ContentBuilder b;
  GpuRow row;
  row.name = b.text("gemm");
  row.duration_ns = 417'000;
  b.content().kernel_grids.add(row);
  b.kernel(kFused, 0, 408, 1);
  b.kernel("gemm", 3, 417, 2);
  repair_gpu_rows(b.content());
  REQUIRE(b.content().kernel_grids.sums(b.content().strings).size() == 1);
  CHECK(b.content().kernel_grids.sums(b.content().strings)[0].ns == 12'000);
}
