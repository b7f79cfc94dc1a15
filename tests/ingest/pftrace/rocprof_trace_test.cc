// What rocprofv3 writes with --output-format pftrace, through Perfetto's SDK: texts are interned, stamps count from one
// to the next, each slice ends where it is begun.
#include <catch2/catch.hpp>

#include "made_trace.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT
using namespace skewscope::test;    // NOLINT

namespace {

// Categories: 1 kernel_dispatch, 2 hip_api, 3 rccl_api, 4 memory_copy, 5 hsa_api, 6 marker_api. Annotations: 1 agent,
// 2 corr_id, 3 stream_ID, 4 tid, 5 dst_agent, 6 src_agent, 7 copy_bytes. Texts: 1 Agent-4, 2 Agent-5, 3 Agent-0.
MadeTrace trace_of_rocprof() {
  MadeTrace trace;
  trace.snapshot({{6, 1'000'000}, {64, 1'000'000, true}});
  trace.defaults(64, 9);
  trace.process(8, 908, "python3");
  trace.thread(9, 8, 908, 908, "python3");
  trace.intern({{1, {"kernel_dispatch", "hip_api", "rccl_api", "memory_copy", "hsa_api", "marker_api"}},
                {3, {"agent", "corr_id", "stream_ID", "tid", "dst_agent", "src_agent", "copy_bytes"}},
                {29, {"Agent-4", "Agent-5", "Agent-0"}},
                {2, {"gemm", "hipLaunchKernel", "ncclAllReduce", "MEMORY_COPY_DEVICE_TO_HOST", "ProfilerStep#4"}}},
               false);
  trace.flags = 2;
  return trace;
}

}  // namespace

TEST_CASE("kernels of rocprofv3's pftrace: stamps add up, agents are GPUs, calls of RCCL say the operation") {
  MadeTrace trace = trace_of_rocprof();
  // From 1,000,000 on: +100, +50; a call of RCCL holds the launch.
  trace.begin({0, 100, "", 3, {{uint64_t{2}, 76}}, "", 3})
      .begin({0, 10, "", 2, {{uint64_t{2}, 77}, {uint64_t{3}, 5}}, "", 2});
  trace.end(0, 20).end(0, 20);
  trace.slice({20, 850, "", 1, {{uint64_t{1}, NumberOfText{1}}, {uint64_t{2}, 77}, {uint64_t{3}, 5}}, "", 1}, 500);
  const std::vector<FileContent> contents = read_pftrace(trace.text());
  REQUIRE(contents.size() == 1);
  const FileContent& content = contents.front();
  CHECK(content.format == "rocprofv3 pftrace");
  CHECK(content.findings.empty());
  REQUIRE(content.gpu.size() == 1);
  CHECK(content.gpu[0].start.ns == 1'001'000);
  CHECK(content.gpu[0].duration_ns == 500);
  CHECK(content.gpu[0].device == 4);
  CHECK(content.gpu[0].stream == 5);
  REQUIRE(content.launches.size() == 1);
  CHECK(content.launches[0].start.ns == 1'000'110);
  CHECK(content.launches[0].duration_ns == 20);
  REQUIRE(content.comm_ops.size() == 1);
  CHECK(content.comm_ops[0].start.ns == 1'000'100);
  CHECK(content.comm_ops[0].duration_ns == 50);
  CHECK(content.comm_ops[0].thread == 908);
  CHECK(content.strings.view(content.comm_args[0].collective_name) == "allreduce");
  CHECK(content.process_id == 908);
}

TEST_CASE("each GPU of rocprofv3's pftrace is a rank; a copy to the host is of the GPU that it came from") {
  MadeTrace trace = trace_of_rocprof();
  trace.slice({20, 1000, "", 1, {{uint64_t{1}, NumberOfText{1}}}, "", 1}, 500);
  trace.slice({21, 0, "", 1, {{uint64_t{1}, NumberOfText{2}}}, "", 1}, 600);
  trace.slice(
      {22, 100, "", 4, {{uint64_t{5}, NumberOfText{3}}, {uint64_t{6}, NumberOfText{2}}, {uint64_t{7}, 4096}}, "", 4},
      50);
  trace.slice({9, 0, "", 5, {}, "", 6}, 50);
  trace.slice({9, 0, "hsa_queue_create", 0, {}, "", 5}, 50);
  const std::vector<FileContent> contents = read_pftrace(trace.text(), true);
  REQUIRE(contents.size() == 2);
  CHECK(contents[0].part == "gpu4");
  CHECK(contents[0].gpu.size() == 1);
  CHECK(contents[1].part == "gpu5");
  REQUIRE(contents[1].gpu.size() == 2);
  CHECK(contents[1].gpu[1].work == GpuWork::memcpy);
  CHECK(contents[1].details->gpu[1].bytes == 4096);
  for (const FileContent& content : contents) {
    REQUIRE(content.steps.size() == 1);  // of which GPU, the marker does not say
    CHECK(content.steps[0].number == 4);
  }
}

TEST_CASE("kernels that overlap on the track of a stream keep their own ends, which follow their beginnings") {
  MadeTrace trace = trace_of_rocprof();
  trace.clock = 6;
  trace.slice({20, 2000, "", 1, {{uint64_t{1}, NumberOfText{1}}}, "", 1}, 2500);
  trace.slice({20, 2400, "", 1, {{uint64_t{1}, NumberOfText{1}}}, "", 1}, 3000);
  const FileContent content = std::move(read_pftrace(trace.text()).front());
  REQUIRE(content.gpu.size() == 2);
  CHECK(content.gpu[0].duration_ns == 500);
  CHECK(content.gpu[1].duration_ns == 600);
}
