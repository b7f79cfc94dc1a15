// What PyTorch writes as .pftrace (the cupti_monitor backend of torch.profiler): stages of GPUs, slices of threads
// whose arguments are Kineto's, all beginnings of a kind before all their ends, times since 1970 without a snapshot.
#include <catch2/catch.hpp>

#include "made_trace.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT
using namespace skewscope::test;    // NOLINT

namespace {

constexpr uint64_t kEpochNs = 1'780'000'000'000'000'000;

// Names 1 to 5; specifications: 1 to 4 are stages, 5 and 6 queues.
MadeTrace trace_of_pytorch() {
  MadeTrace trace;
  trace.sequence = 0;
  trace.process(1, 4242, "python3");
  trace.thread(2, 1, 4242, 4242, "thread 4242 (python3)");
  trace.thread(3, 1, 4242, 4250, "thread 4250 (pt_autograd_0)");
  trace.process(4, 0, "GPU 0");
  trace.thread(5, 4, 0, 7, "stream 7");
  trace.process(6, 9, "Overhead");
  trace.thread(7, 6, 9, 0, "Overhead");
  trace.sequence = 1;
  trace.intern({{2,
                 {"gemm<float>", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                  "cudaLaunchKernel", "record_param_comms", "ProfilerStep#9"}},
                {24, {"Kernel", "Memcpy", "Memset", "Annotation", "stream 0007", "stream 0020"}}});
  trace.context(1, 4242);
  trace.flags = 2;
  return trace;
}

}  // namespace

TEST_CASE("a stage of a GPU in PyTorch's pftrace is a kernel, a copy or a fill, with stream, grid and launch") {
  MadeTrace trace = trace_of_pytorch();
  trace.slice({2, kEpochNs + 1000, "", 3, {{"cbid", 211}, {"correlation", 77}}}, kEpochNs + 1100);
  trace.stage({kEpochNs + 2000,
               500,
               1,
               5,
               1,
               1,
               0,
               {{"device id", "0"}, {"stream id", "7"}, {"correlation", "77"}},
               {8, 4, 1}});
  trace.stage(
      {kEpochNs + 2600, 100, 2, 6, 0, 1, 0, {{"stream id", "20"}, {"correlation", "78"}, {"bytes", "4096"}}, {}});
  trace.stage({kEpochNs + 2700, 10, 3, 6, 0, 1, 0, {}, {}});
  const std::vector<FileContent> contents = read_pftrace(trace.text(), true);
  REQUIRE(contents.size() == 1);
  const FileContent& content = contents.front();
  REQUIRE(content.kind == ContentKind::rank_trace);
  CHECK(content.format == "perfetto pftrace");
  CHECK(content.part.empty());
  CHECK(content.process_id == 4242);
  CHECK(content.findings.empty());
  REQUIRE(content.gpu.size() == 3);
  CHECK(content.strings.view(content.gpu[0].name) == "gemm<float>");
  CHECK(content.gpu[0].start.ns == static_cast<int64_t>(kEpochNs) + 2000);
  CHECK(content.gpu[0].duration_ns == 500);
  CHECK(content.gpu[0].device == 0);
  CHECK(content.gpu[0].stream == 7);
  CHECK(content.gpu[0].correlation == 77);
  CHECK(content.gpu[0].work == GpuWork::compute);
  CHECK(content.gpu[1].work == GpuWork::memcpy);
  CHECK(content.gpu[1].stream == 20);
  CHECK(content.details->gpu[1].bytes == 4096);
  CHECK(content.gpu[2].work == GpuWork::memset);
  CHECK(content.gpu[2].stream == 20);  // by the name of its queue
  REQUIRE(content.launches.size() == 1);
  CHECK(content.launches[0].start.ns == static_cast<int64_t>(kEpochNs) + 1000);
  CHECK(content.launches[0].thread == 4242);
  CHECK(content.launches[0].role == LaunchRole::kernel);
  CHECK(content.cuda_launches);
}

TEST_CASE("a collective of PyTorch's pftrace has the arguments that Kineto gives, lists as text") {
  MadeTrace trace = trace_of_pytorch();
  trace.stage({kEpochNs + 2000, 500, 1, 5, 2, 1, 0, {{"correlation", "77"}}, {}});
  trace.slice({2,
               kEpochNs + 900,
               "",
               4,
               {{"External id", 55},
                {"Collective name", "allreduce"},
                {"dtype", "BFloat16"},
                {"In msg nelems", 1024},
                {"Out msg nelems", 1024},
                {"Group size", 4},
                {"Process Group Name", "3"},
                {"Process Group Description", "tp"},
                {"Process Group Ranks", std::vector<int64_t>{0, 1, 2, 3}},
                {"Seq", 12},
                {"Comms Id", std::string("17900000000000000001")},
                {"In split size", std::vector<int64_t>{}}}},
              kEpochNs + 1200);
  const FileContent content = std::move(read_pftrace(trace.text()).front());
  CHECK(content.gpu[0].work == GpuWork::communication);
  REQUIRE(content.comm_ops.size() == 1);
  CHECK(content.comm_ops[0].external_id == 55);
  CHECK(content.comm_ops[0].thread == 4242);
  const CommArgs args = content.comm_args[static_cast<size_t>(content.comm_ops[0].args)];
  CHECK(content.strings.view(args.collective_name) == "allreduce");
  CHECK(content.strings.view(args.dtype) == "BFloat16");
  CHECK(content.strings.view(args.group_name) == "3");
  CHECK(content.strings.view(args.group_description) == "tp");
  CHECK(content.strings.view(args.group_ranks) == "[0, 1, 2, 3]");
  CHECK(args.in_elements == 1024);
  CHECK(args.out_elements == 1024);
  CHECK(args.group_size == 4);
  CHECK(args.seq == 12);
  CHECK(args.comms_id == 17'900'000'000'000'000'001U);
  CHECK(content.splits.empty());
}

TEST_CASE(
    "all beginnings of a kind come before all their ends: operators that nest, or follow one another, keep theirs") {
  MadeTrace trace = trace_of_pytorch();
  const auto op = [&](const char* name, uint64_t at) { trace.begin({2, kEpochNs + at, name, 0, {{"Ev Idx", 1}}}); };
  op("aten::linear", 100);
  op("aten::addmm", 110);
  op("aten::relu", 150);  // begins as the one before ends
  op("aten::sum", 160);
  for (const uint64_t at : {150, 140, 160, 200}) trace.end(2, kEpochNs + at);
  const FileContent content = std::move(read_pftrace(trace.text(), true).front());
  const HostEvents& host = content.details->host;
  REQUIRE(host.size() == 4);
  std::vector<std::pair<std::string, int64_t>> durations;
  for (size_t i = 0; i < host.size(); ++i)
    durations.emplace_back(content.strings.view(host.name[i]), host.duration_ns[i]);
  std::sort(durations.begin(), durations.end());
  const std::vector<std::pair<std::string, int64_t>> expected = {
      {"aten::addmm", 30}, {"aten::linear", 50}, {"aten::relu", 10}, {"aten::sum", 40}};
  CHECK(durations == expected);
  CHECK(host.kind[0] == HostKind::op);
}

TEST_CASE("steps, waits of the host and of streams, modules and threads of the backward pass are told by names") {
  MadeTrace trace = trace_of_pytorch();
  trace.stage({kEpochNs + 2000, 500, 1, 5, 1, 1, 0, {{"correlation", "77"}}, {}});
  trace.slice({2, kEpochNs + 500, "", 5, {}}, kEpochNs + 5000);
  trace.slice({2, kEpochNs + 3000, "cudaDeviceSynchronize", 0, {{"cbid", 165}, {"correlation", 90}}}, kEpochNs + 3400);
  trace.slice({5,
               kEpochNs + 3500,
               "Stream Wait Event",
               0,
               {{"stream", 7},
                {"correlation", 91},
                {"device", 0},
                {"cuda_sync_kind", "Stream Wait Event"},
                {"wait_on_stream", -1},
                {"wait_on_cuda_event_record_corr_id", 88}}},
              kEpochNs + 3501);
  trace.slice({2, kEpochNs + 600, "nn.Module: Linear_0", 0, {{"Python id", 5}}}, kEpochNs + 700);
  trace.slice({3, kEpochNs + 4000, "autograd::engine::evaluate_function: AddmmBackward0", 0, {{"Sequence number", 3}}},
              kEpochNs + 4100);
  trace.slice({2, kEpochNs + 800, "FSDP::all_gather (layers.3)", 0, {}}, kEpochNs + 850);
  trace.slice({7, kEpochNs + 10, "Activity Buffer Request", 0, {}}, kEpochNs + 20);
  const FileContent content = std::move(read_pftrace(trace.text(), true).front());
  REQUIRE(content.steps.size() == 1);
  CHECK(content.steps[0].number == 9);
  CHECK(content.steps[0].duration_ns == 4500);
  REQUIRE(content.syncs.size() == 1);
  CHECK(content.syncs[0].of_device);
  REQUIRE(content.stream_waits.size() == 1);
  CHECK(content.stream_waits[0].stream == 7);
  CHECK(content.stream_waits[0].source == -1);
  CHECK(content.stream_waits[0].recorded_by == 88);
  REQUIRE(content.modules.size() == 2);
  CHECK(content.strings.view(content.modules[0].name) == "Linear_0");
  CHECK(content.strings.view(content.modules[1].name) == "layers.3");
  CHECK(content.backward_threads == std::vector<int64_t>{4250});
  CHECK(content.gpu.size() == 1);
  for (size_t i = 0; i < content.details->host.size(); ++i)
    CHECK(content.strings.view(content.details->host.name[i]) != "Activity Buffer Request");
}

TEST_CASE("in the first form of PyTorch's pftrace kernels are slices of the streams of a process per GPU") {
  MadeTrace trace = trace_of_pytorch();
  const auto row = [&](const char* name, uint64_t at, int64_t correlation) {
    trace.begin({5, kEpochNs + at, name, 0, {{"stream", 7}, {"correlation", correlation}, {"device", 0}}});
  };
  row("gemm<float>", 2000, 77);
  row("Memcpy HtoD (Pinned -> Device)", 2500, 78);
  row("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 2600, 79);
  for (const uint64_t at : {2500, 2600, 2900}) trace.end(5, kEpochNs + at);
  const FileContent content = std::move(read_pftrace(trace.text()).front());
  REQUIRE(content.gpu.size() == 3);
  CHECK(content.gpu[0].duration_ns == 500);
  CHECK(content.gpu[0].stream == 7);
  CHECK(content.gpu[1].duration_ns == 100);
  CHECK(content.gpu[1].work == GpuWork::memcpy);
  CHECK(content.gpu[2].duration_ns == 300);
  CHECK(content.gpu[2].work == GpuWork::communication);
}

TEST_CASE("events of Kineto's categories are told by these, as a writer of chrome traces gives them") {
  MadeTrace trace;
  trace.process(1, 4242, "python3").thread(2, 1, 4242, 9, "main").thread(3, 1, 4242, 7, "stream 7");
  trace.slice({2, 1000, "cudaLaunchKernel", 0, {{"correlation", 77}}, "cuda_runtime"}, 1100);
  trace.slice({3, 2000, "gemm", 0, {{"stream", 7}, {"device", 1}, {"correlation", 77}}, "kernel"}, 2500);
  trace.slice({3, 2600, "Memset (Device)", 0, {{"stream", 7}, {"device", 1}}, "gpu_memset"}, 2700);
  trace.slice({2, 10, "unrelated", 0, {}, "disk"}, 5000);
  const FileContent content = std::move(read_pftrace(trace.text(), true).front());
  REQUIRE(content.gpu.size() == 2);
  CHECK(content.gpu[0].device == 1);
  CHECK(content.gpu[1].work == GpuWork::memset);
  CHECK(content.launches.size() == 1);
  CHECK(content.details->host.size() == 1);
}
