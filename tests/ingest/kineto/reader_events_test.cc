#include <catch2/catch.hpp>

#include "src/ingest/kineto/operand_shape.h"
#include "tests/ingest/reader_support.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

std::string event(const std::string& category, const std::string& name, const std::string& args = "",
                  const std::string& pid = "9") {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": )" + pid +
         R"(, "tid": 11, "ts": 5, "dur": 2, "args": {)" + args + "}}";
}

constexpr const char* kCollective =
    R"("Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 65, "Group size": 8, "dtype": "BFloat16",
    "In split size": "[]", "Process Group Name": "3", "Process Group Description": "tp", "Process Group Ranks": "[0, 1, ...]",
    "Rank": 2, "Global rank start": 16, "Global rank stride": 4, "Dst Rank": 5, "Seq": 77, "Comms Id": 18446744073709551614,
    "correlation": 12, "External id": 4802)";

}  // namespace

TEST_CASE("a trace of Kineto is known by its keys, and other JSON is one only where no format is surer") {
  const KinetoReader reader;
  CHECK(reader.recognise("trace.json", "\xef\xbb\xbf{\"schemaVersion\": 1,") == Recognition::yes);
  CHECK(reader.recognise("trace.json", "{\"traceEvents\": [") == Recognition::yes);
  CHECK(reader.recognise("trace.json", " [{\"ph\": \"X\"") == Recognition::perhaps);
  CHECK(reader.recognise("trace.json", "{\"nodes\": [") == Recognition::perhaps);
  CHECK(reader.recognise("trace.json", "<html>") == Recognition::no);
  CHECK(reader.recognise("trace.json", "") == Recognition::no);
}

TEST_CASE("every spelling of a GPU category since 2020 is a GPU row") {
  const std::string args = "\"correlation\": 1";
  for (const char* category : {"kernel", "Kernel", "mtia_ccp_events", "hpu_op"}) {
    CAPTURE(category);
    CHECK(read_text(trace_of(event(category, "gemm", args))).gpu[0].work == GpuWork::compute);
  }
  CHECK(read_text(trace_of(event("gpu_memcpy", "Memcpy HtoD", args))).gpu[0].work == GpuWork::memcpy);
  CHECK(read_text(trace_of(event("Memcpy", "Memcpy HtoD", args))).gpu[0].work == GpuWork::memcpy);
  CHECK(read_text(trace_of(event("gpu_memset", "Memset", args))).gpu[0].work == GpuWork::memset);
  CHECK(read_text(trace_of(event("Memset", "Memset", args))).gpu[0].work == GpuWork::memset);
}

TEST_CASE("MTIA's rows that wait for another stream are no work, and its transfers are copies") {
  const FileContent content =
      read_text(trace_of(event("mtia_ccp_events", "fc_kernel", "\"stream\": 108, \"correlation\": 1") + "," +
                         event("mtia_ccp_events", "dma_request", "\"stream\": 108, \"size\": 1000") + "," +
                         event("mtia_ccp_events", "event_wait", "\"stream\": 108, \"wait_on_stream\": 104")));
  REQUIRE(content.gpu.size() == 2);
  CHECK(content.gpu[0].work == GpuWork::compute);
  CHECK(content.gpu[1].work == GpuWork::memcpy);
  CHECK(content.events == 3);
}

TEST_CASE("a GPU row is told by its category, not by a stream among its arguments") {
  const FileContent content =
      read_text(trace_of(event("cpu_op", "triton_poi", "\"stream\": 0") + "," +
                         event("cuda_sync", "Stream Sync", "\"stream\": 7, \"correlation\": 1")));
  CHECK(content.gpu.empty());
  CHECK(content.events == 2);
  CHECK(content.has_cpu_ops);
}

TEST_CASE("runtime rows that can launch are kept, whatever the runtime is called") {
  for (const char* category : {"cuda_runtime", "cuda_driver", "Runtime", "privateuse1_runtime", "xpu_driver"}) {
    CAPTURE(category);
    const FileContent content = read_text(
        trace_of(event(category, "cudaLaunchKernel", "\"cbid\": 211, \"correlation\": 7, \"External id\": 3") + "," +
                 event(category, "cudaLaunchKernel", "\"correlation\": 8") + "," +
                 event(category, "cudaEventQuery", "\"correlation\": 7") + "," + kernel("k", "9", "1")));
    REQUIRE(content.launches.size() == 2);
    CHECK(content.launches[0].correlation == 7);
    CHECK(content.launches[0].thread == 11);
    CHECK_FALSE(content.hip_launches);
  }
}

TEST_CASE("a launch through HIP is told by its name") {
  const FileContent content =
      read_text(trace_of(event("cuda_runtime", "hipExtModuleLaunchKernel", R"("stream": "0x0", "correlation": 7)") +
                         "," + kernel("k", "9", "1")));
  CHECK(content.hip_launches);
}

TEST_CASE("a launch through CUDA is told by its name") {
  for (const char* name : {"cudaLaunchKernelExC", "cuLaunchKernelEx"}) {
    CHECK(read_text(trace_of(event("cuda_runtime", name, "\"correlation\": 7"))).cuda_launches);
  }
  CHECK_FALSE(read_text(trace_of(event("privateuse1_runtime", "synLaunch", "\"correlation\": 7"))).cuda_launches);
}

TEST_CASE("a launch through Unified Runtime or Level Zero is told by its name") {
  for (const char* name : {"urEnqueueKernelLaunch", "zeCommandListAppendLaunchKernel"}) {
    const FileContent content =
        read_text(trace_of(event("xpu_runtime", name, "\"correlation\": 7") + "," + kernel("gemm_kernel", "9", "1")));
    CHECK(content.intel_launches);
    CHECK_FALSE(content.cuda_launches);
    CHECK_FALSE(content.hip_launches);
  }
}

TEST_CASE("a kernel carries the arguments of its collective") {
  const FileContent content =
      read_text(trace_of(event("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", kCollective)));
  REQUIRE(content.comm_args.size() == 1);
  const CommArgs args = content.comm_args[0];
  const auto text = [&](StringId id) { return std::string(content.strings.view(id)); };
  CHECK(content.gpu[0].args == 0);
  CHECK(content.gpu[0].external_id == 4802);
  CHECK(content.gpu[0].work == GpuWork::communication);
  CHECK(text(args.collective_name) == "allreduce");
  CHECK(text(args.dtype) == "BFloat16");
  CHECK(text(args.group_name) == "3");
  CHECK(text(args.group_description) == "tp");
  CHECK(text(args.group_ranks) == "[0, 1, ...]");
  CHECK(args.in_elements == 64);
  CHECK(args.out_elements == 65);
  CHECK(args.group_size == 8);
  CHECK(args.rank == 2);
  CHECK(args.rank_start == 16);
  CHECK(args.rank_stride == 4);
  CHECK(args.peer == 5);
  CHECK(args.seq == 77);
  CHECK(args.comms_id == 18446744073709551614U);
}

TEST_CASE("spring 2024 names the group by number") {
  const FileContent content = read_text(
      trace_of(event("cpu_op", "record_param_comms", R"("Collective name": "allreduce", "Process Group ID": 5)")));
  CHECK(content.strings.view(content.comm_args[0].group_name) == "5");
}

TEST_CASE("ops and ranges that tell about collectives are kept, other CPU rows are not") {
  const FileContent content = read_text(trace_of(
      event("cpu_op", "record_param_comms",
            R"("External id": 1, "Input Dims": [[], [8, 4096]], "Input type": ["", "c10::Half"])") +
      "," + event("user_annotation", "nccl:all_reduce", R"("Input Dims": [[394241]], "Input type": ["float"])") + "," +
      event("user_annotation", "gloo:broadcast") + "," + event("cpu_op", "symm_mem::multimem_all_reduce_") + "," +
      event("cpu_op", "_C_custom_ar::all_reduce") + "," + event("cpu_op", "vllm::all_reduce") + "," +
      event("cpu_op", "vllm::unified_attention") + "," + event("cpu_op", "aten::mm") + "," +
      event("user_annotation", "forward") + "," + event("python_function", "nccl:all_reduce")));
  REQUIRE(content.comm_ops.size() == 6);
  CHECK(content.comm_ops[0].input_elements == 8 * 4096);
  CHECK(content.strings.view(content.comm_ops[0].input_type) == "c10::Half");
  CHECK(content.comm_ops[0].external_id == 1);
  CHECK(content.comm_ops[1].input_elements == 394241);
  CHECK(content.comm_ops[2].input_elements == -1);
  CHECK(content.events == 10);
  CHECK(content.kind == ContentKind::rank_trace);
}

TEST_CASE("a PyTorch without Kineto names no category: its CPU functions are operators, steps and gloo ranges") {
  const FileContent content = read_text(
      R"([{"name": "aten::mm", "ph": "X", "ts": 88, "dur": 25, "tid": 1, "pid": "CPU functions", "args": {}}, )"
      R"({"name": "ProfilerStep#4", "ph": "X", "ts": 80, "dur": 50, "tid": 1, "pid": "CPU functions", "args": {}}, )"
      R"({"name": "gloo:all_reduce", "ph": "X", "ts": 90, "dur": 7, "tid": 2, "pid": "CPU functions", "args": {}}, )"
      R"({"name": "gloo:all_reduce", "ph": "X", "ts": 98, "dur": 7, "tid": 2, "pid": "another", "args": {}}])");
  CHECK(content.kind == ContentKind::rank_trace);
  REQUIRE(content.steps.size() == 1);
  CHECK(content.steps[0].number == 4);
  REQUIRE(content.comm_ops.size() == 1);
  CHECK(content.comm_ops[0].start.ns == 90'000);
  CHECK(content.comm_ops[0].duration_ns == 7'000);
}

TEST_CASE("GPU time by operator, as a PyTorch without Kineto writes it, is counted as left out") {
  const FileContent content = read_text(
      R"([{"name": "aten::mm", "ph": "X", "ts": 88, "dur": 25, "tid": 1, "pid": "CPU functions", "args": {}}, )"
      R"({"name": "aten::mm", "ph": "X", "ts": 90, "dur": 7, "tid": 1, "pid": "CUDA functions", "args": {}}, )"
      R"({"name": "aten::mm", "ph": "X", "ts": 98, "dur": 7, "tid": 1, "pid": "CUDA functions", "args": {}}])");
  CHECK(content.gpu.empty());
  CHECK(count_of(content, "operator-gpu-time") == 2);
}

TEST_CASE("a step comes from the host's annotation, not from its copy on the GPU") {
  const FileContent content = read_text(trace_of(
      event("user_annotation", "ProfilerStep#12") + "," + event("gpu_user_annotation", "ProfilerStep#12") + "," +
      event("Operator", "ProfilerStep#13") + "," + event("gpu_user_annotation", "nccl:all_reduce", "", "3")));
  REQUIRE(content.steps.size() == 2);
  CHECK(content.steps[0].number == 12);
  CHECK(content.steps[1].number == 13);
  REQUIRE(content.gpu_annotations.size() == 1);
  CHECK(content.gpu_annotations[0].device == 3);
  CHECK(content.gpu_annotations[0].stream == 11);
}

TEST_CASE("arguments may stand before the category, as Python sorts them") {
  const std::string sorted =
      R"({"args": {"Collective name": "allreduce", "correlation": 12, "device": 1, "grid": [1, 2], "stream": "0x14"},
      "cat": "kernel", "dur": 2.5, "name": "ncclKernel", "ph": "X", "pid": 0, "tid": "stream 7", "ts": 5.25})";
  const FileContent content = read_text(trace_of(sorted));
  REQUIRE(content.gpu.size() == 1);
  CHECK(content.gpu[0].start.ns == 5250);
  CHECK(content.gpu[0].duration_ns == 2500);
  CHECK(content.gpu[0].stream == 20);
  CHECK(content.gpu[0].device == 1);
  CHECK(content.gpu[0].correlation == 12);
  CHECK(content.gpu[0].args == 0);
  CHECK(count_of(content, "number-as-string") == 1);
}

TEST_CASE("without arguments, device and stream are those of process and thread, which may be texts") {
  const FileContent content = read_text(
      trace_of(R"({"ph": "X", "cat": "Kernel", "name": "k", "pid": "GPU 2", "tid": "stream 7 ", "ts": 1, "dur": 1})"));
  CHECK(content.gpu[0].device == 2);
  CHECK(content.gpu[0].stream == 7);
  CHECK(content.gpu[0].correlation == -1);
}

TEST_CASE("pretty, compact and dumped layouts say the same") {
  const std::string pretty =
      "\n{\n  \"schemaVersion\": 1,\n  \"traceEvents\": [\n  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": "
      "\"k\", \"pid\": 0, "
      "\"tid\": 7,\n    \"ts\": 5.5, \"dur\": 2,\n    \"args\": {\n      \"correlation\": 3, \"stream\": 7\n    }\n  "
      "}\n  ],\n"
      "  \"traceName\": \"t\"\n}\n";
  const std::string compact =
      R"({"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5.5,"dur":2,"args":{"correlation":3,"stream":7}}],"traceName":"t"})";
  FileContent a = read_text(pretty), b = read_text(compact);
  a.bytes = b.bytes = 0;
  CHECK(as_text(a) == as_text(b));
  CHECK(a.gpu.size() == 1);
  CHECK(a.findings.empty());
}

TEST_CASE("a bare array of events is a trace") {
  const FileContent content = read_any("[" + kernel("a", "1", "1") + ", " + kernel("b", "2", "1") + "]\n");
  CHECK(content.kind == ContentKind::rank_trace);
  CHECK(content.gpu.size() == 2);
  CHECK(content.findings.empty());
}

TEST_CASE("keys are found before and behind the events, in any order") {
  const FileContent content = read_text(trace_of(
      kernel("k", "1", "1"),
      R"("metadata": {"traceEvents note": "x", "a": [1, {"b": "}"}]}, "host_name": "node\u0031", "cuda_driver_version": 13000, )",
      R"(, "INFO": ["a, ]} \" b"], "deviceProperties": [{"id": 1, "name": "H100"}, {"id": 0, "name": "H200"}], "roctracer_version": 4.1,
      "PT_PROFILER_JOB_NAME": "job", "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "nccl_version": "2.28.9", "pg_config": [
      {"pg_name": "0", "pg_desc": "default_pg", "pg_size": 8, "ranks": [0, 1]}, {"pg_name": "1", "pg_size": 64, "ranks": "[0, 1, ...]"}]})"));
  CHECK(content.host_name == "node1");
  CHECK(content.software == std::vector<std::string>{"CUDA-driver/13.0", "NCCL/2.28.9"});
  CHECK(content.job_name == "job");
  CHECK(content.hip_properties);
  REQUIRE(content.devices.size() == 2);
  CHECK(content.devices[0].name == "H200");
  CHECK(content.devices[1].name == "H100");
  CHECK(content.distributed.present);
  CHECK(content.distributed.after_events);
  CHECK(content.distributed.rank == 3);
  CHECK(content.distributed.world_size == 8);
  REQUIRE(content.distributed.groups.size() == 2);
  CHECK(content.distributed.groups[0].ranks == RankRuns{0, 1});
  CHECK(content.distributed.groups[0].description == "default_pg");
  CHECK(content.distributed.groups[1].ranks_text == "[0, 1, ...]");
  CHECK(content.findings.empty());
}

TEST_CASE("versions are said as their makers say them, and what is none is not said") {
  const auto software_of_head = [](const std::string& head) {
    return read_text(trace_of(kernel("k", "1", "1"), head)).software;
  };
  using Software = std::vector<std::string>;
  CHECK(software_of_head(R"("cuda_runtime_version": 12080, "cuda_driver_version": "12040", )") ==
        Software{"CUDA/12.8", "CUDA-driver/12.4"});
  CHECK(software_of_head(R"("hip_runtime_version": 60443483, "hip_driver_version": 60443483, )") ==
        Software{"HIP/6.4.43483", "HIP-driver/6.4.43483"});
  CHECK(software_of_head(
            R"("cuda_runtime_version": 0, "cuda_driver_version": -1, "distributedInfo": {"nccl_version": "unknown"}, )")
            .empty());
  CHECK(software_of_head(R"("distributedInfo": {"nccl_version": "2.<script>"}, )").empty());
  CHECK(software_of_head(R"("cuda_driver_version": "13.0", )").empty());
}

TEST_CASE("what kind of file it is, is told by content") {
  const auto kind = [](const std::string& text) { return read_any(text).kind; };
  CHECK(kind("") == ContentKind::empty);
  CHECK(kind("  \n") == ContentKind::empty);
  CHECK(kind(trace_of("")) == ContentKind::empty);
  CHECK(kind("hello, world") == ContentKind::not_a_trace);
  CHECK(kind(R"({"a": [1, 2]})") == ContentKind::not_a_trace);
  CHECK(kind("[1, 2, 3]") == ContentKind::not_a_trace);
  CHECK(kind(R"({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [{"id": 1, "name": "x"}]})") ==
        ContentKind::execution_trace);
  CHECK(kind(trace_of(event("cpu_op", "aten::mm"))) == ContentKind::front_end);
  CHECK(kind(trace_of(kernel("k", "1", "1"))) == ContentKind::rank_trace);
}

TEST_CASE("launches of two processes make a merged trace, a forked data loader does not") {
  const std::string launches =
      event("cuda_runtime", "cudaLaunchKernel", "\"correlation\": 7", "9") + "," + kernel("k", "9", "1");
  const std::string other = event("cuda_runtime", "cudaLaunchKernel", "\"correlation\": 7", "10");
  CHECK(read_text(trace_of(launches + "," + other)).kind == ContentKind::merged_trace);
  const FileContent forked = read_text(trace_of(launches + "," + event("cpu_op", "aten::copy_", "", "10")));
  CHECK(forked.kind == ContentKind::rank_trace);
}

TEST_CASE("labels of two ranks make a merged trace, labels of GPUs do not") {
  const auto label = [](const std::string& text) {
    return R"({"name": "process_labels", "ph": "M", "ts": 1, "pid": 2, "tid": 0, "args": {"labels": ")" + text + "\"}}";
  };
  CHECK(read_text(trace_of(label("rank 0") + "," + label("rank 1") + "," + kernel("k", "1", "1"))).kind ==
        ContentKind::merged_trace);
  CHECK(read_text(trace_of(label("rank 1") + "," + label("rank 1") + "," + kernel("k", "1", "1"))).kind ==
        ContentKind::rank_trace);
  CHECK(read_text(trace_of(label("GPU 0") + "," + label("GPU 1") + "," + kernel("k", "1", "1"))).kind ==
        ContentKind::rank_trace);
}

TEST_CASE("the first operand with a shape counts, with its own type") {
  size_t operand = 9;
  CHECK(elements_of_first_operand("[[], [2, 3], [5]]", operand) == 6);
  CHECK(operand == 1);
  CHECK(type_of_operand(R"(["Scalar", "c10::Half", "float"])", operand) == "\"c10::Half\"");
  CHECK(elements_of_first_operand("[[[2, 3], [4]], [5]]", operand) == 10);
  CHECK(operand == 0);
  CHECK(elements_of_first_operand("[[], []]", operand) == -1);
  CHECK(elements_of_first_operand("[]", operand) == -1);
  CHECK(first_type(R"(["", "TensorList"])") == "\"TensorList\"");
  CHECK(first_type(R"(["", ""])").empty());
}
