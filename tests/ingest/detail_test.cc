#include "detail_support.h"
#include "src/ingest/link/keep_steps.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

// A complete event of the host; `more` stands behind its times.
std::string host(const std::string& category, const std::string& name, const std::string& thread,
                 const std::string& stamp, const std::string& duration, const std::string& more = "") {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": 5, "tid": )" + thread +
         ", \"ts\": " + stamp + ", \"dur\": " + duration + more + "}";
}

std::string args(const std::string& members) { return ", \"args\": {" + members + "}"; }

std::vector<std::string> names(const LinkedTrace& linked) {
  std::vector<std::string> names;
  for (const StringId name : linked.detail->host.name) names.emplace_back(linked.strings.view(name));
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("host rows of every kind are kept, by thread and start, the longest first") {
  const LinkedTrace linked = link_with_details(trace_of(
      host("cuda_runtime", "cudaEventQuery", "8", "30", "1") + "," + host("cpu_op", "aten::add", "7", "20", "5") + "," +
      host("python_function", "train.py(3): step", "7", "20", "9.5") + "," +
      host("user_annotation", "phase", "7", "10", "40") + "," +
      host("overhead", "Activity Buffer Request", "-1", "1", "2") + "," +
      host("Trace", "PyTorch Profiler (0)", "9", "0", "99") + "," + host("cpu_op", "aten::add", "7", "20", "5")));
  const HostEvents& rows = linked.detail->host;
  CHECK(names(linked) ==
        Names{"Activity Buffer Request", "phase", "train.py(3): step", "aten::add", "aten::add", "cudaEventQuery"});
  CHECK(rows.kind == std::vector<HostKind>{HostKind::overhead, HostKind::annotation, HostKind::python, HostKind::op,
                                           HostKind::op, HostKind::call});
  CHECK(rows.place == std::vector<int32_t>{4, 3, 2, 1, 6, 0});
  CHECK(rows.start[2] == LocalNs{20'000});
  CHECK(rows.duration_ns == std::vector<int64_t>{2'000, 40'000, 9'500, 5'000, 5'000, 1'000});
  CHECK(rows.thread == std::vector<int32_t>{0, 1, 1, 1, 1, 2});
  CHECK(linked.detail->has_python);
  CHECK_FALSE(linked.detail->has_arguments);
}

TEST_CASE("arguments of operators are kept as written, equal ones once") {
  const std::string full =
      args(R"("Input Dims": [[8, 16], []], "Input type": ["float", "Scalar"], "Input Strides": [[16, 1], []],
              "Concrete Inputs": ["", "\"mean\""], "Sequence number": 12, "Fwd thread id": 3)");
  const LinkedTrace linked = link_with_details(trace_of(
      host("cpu_op", "aten::sum", "7", "1", "1", full) + "," + host("cpu_op", "aten::sum", "7", "2", "1", full) + "," +
      host("cpu_op", "aten::sum", "7", "3", "1", args(R"("Input Dims": [[8, 16],[]])")) + "," +
      host("cpu_op", "aten::empty", "7", "4", "1", args(R"("Ev Idx": 4)"))));
  const RankDetail& detail = *linked.detail;
  CHECK(detail.host.arguments == std::vector<int32_t>{0, 0, 1, -1});
  CHECK(detail.host.sequence == std::vector<int32_t>{12, 12, -1, -1});
  CHECK(detail.host.forward_thread == std::vector<int32_t>{3, 3, 0, 0});
  REQUIRE(detail.arguments.size() == 2);
  const auto text = [&](StringId id) { return std::string(linked.strings.view(id)); };
  CHECK(text(detail.arguments[0].dims) == "[[8, 16], []]");
  CHECK(text(detail.arguments[0].types) == R"(["float", "Scalar"])");
  CHECK(text(detail.arguments[0].strides) == "[[16, 1], []]");
  CHECK(text(detail.arguments[0].values) == R"(["", "\"mean\""])");
  CHECK(text(detail.arguments[1].dims) == "[[8, 16],[]]");
  CHECK_FALSE(detail.arguments[1].types.known());
  CHECK(detail.has_arguments);
}

TEST_CASE("a GPU row knows the call that launched it, how it ran and how much it copied") {
  const LinkedTrace linked = link_with_details(
      trace_of(kernel("late", "60", "5", "\"correlation\": 2") + "," +
               kernel("early", "50", "5",
                      R"("correlation": 1, "registers per thread": 96, "shared memory": 1024, "blocks per SM": 0.074324,
                "warps per SM": 1.189189, "grid": [11, 2, 1], "block": [512, 1, 1], "est. achieved occupancy %": 3)") +
               "," + host("cuda_runtime", "cudaLaunchKernel", "7", "3", "1", args("\"correlation\": 1")) + "," +
               host("cuda_driver", "cuLaunchKernelEx", "7", "1", "1", args("\"correlation\": 2")) + "," +
               R"({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 20, "ts": 70, "dur": 1,
          "args": {"device": 0, "stream": 20, "correlation": 9, "bytes": 4096}})"));
  const RankDetail& detail = *linked.detail;
  CHECK(detail.gpu.place == std::vector<int32_t>{1, 0, 4});
  CHECK(names(linked) == Names{"cuLaunchKernelEx", "cudaLaunchKernel"});
  CHECK(detail.gpu.caller == std::vector<int32_t>{1, 0, -1});
  CHECK(detail.gpu.shape == std::vector<int32_t>{0, -1, -1});
  CHECK(detail.gpu.bytes == std::vector<int64_t>{-1, -1, 4096});
  REQUIRE(detail.shapes.size() == 1);
  CHECK(detail.shapes[0] == KernelShape{{11, 2, 1}, {512, 1, 1}, 96, 1024, 0.074324, 1.189189, 3});
}

TEST_CASE("where a kernel does not tell grid and block, the call that launched it does") {
  const LinkedTrace linked = link_with_details(
      trace_of(kernel("k", "60", "5", "\"correlation\": 2") + "," +
               host("cuda_runtime", "hipLaunchKernel", "7", "1", "1",
                    args(R"("correlation": 2, "grid": [56, 1, 1], "block": [256, 1, 1], "shared memory": 0)"))));
  REQUIRE(linked.detail->gpu.shape == std::vector<int32_t>{0});
  CHECK(linked.detail->shapes[0].grid[0] == 56);
  CHECK(linked.detail->shapes[0].block[0] == 256);
  CHECK(linked.detail->shapes[0].shared_memory == -1);
}

TEST_CASE("what is no number of a kernel's shape is left out") {
  const LinkedTrace linked = link_with_details(trace_of(
      kernel("odd", "50", "5",
             R"("grid": ["x", 99999999999999999999, {}], "block": "[64,2]", "registers per thread": 99999999999,
                "shared memory": "1024", "blocks per SM": inf, "warps per SM": "1.5", "est. achieved occupancy %": null)") +
      "," + kernel("empty", "60", "5", R"("grid": [], "block": null, "registers per thread": -1)")));
  CHECK(linked.detail->gpu.shape == std::vector<int32_t>{0, -1});
  REQUIRE(linked.detail->shapes.size() == 1);
  CHECK(linked.detail->shapes[0] == KernelShape{{-1, -1, -1}, {64, 2, -1}, -1, 1024, -1, 1.5, -1});
}

TEST_CASE("all GPU rows of a graph launch have one caller") {
  const LinkedTrace linked = link_with_details(
      trace_of(host("cuda_runtime", "cudaGraphLaunch", "7", "1", "1", args("\"correlation\": 2")) + "," +
               kernel("a", "60", "5", "\"correlation\": 2") + "," + kernel("b", "70", "5", "\"correlation\": 2")));
  CHECK(linked.detail->gpu.caller == std::vector<int32_t>{0, 0});
}

TEST_CASE("of a runtime and a driver call of one correlation, the one that started first launched the GPU row") {
  const LinkedTrace linked = link_with_details(
      trace_of(host("cuda_driver", "cuLaunchKernel", "7", "3", "1", args("\"correlation\": 2")) + "," +
               host("cuda_runtime", "cudaLaunchKernel", "7", "2", "9", args("\"correlation\": 2")) + "," +
               kernel("k", "60", "5", "\"correlation\": 2")));
  REQUIRE(linked.detail->gpu.caller == std::vector<int32_t>{0});
  CHECK(names(linked)[0] == "cudaLaunchKernel");
  CHECK(linked.detail->host.start[0] == linked.trace.launches.start[0]);
}

TEST_CASE("details stay beside their GPU rows when these are dropped, cut and sorted") {
  std::string events;
  for (int i = 9; i >= 0; --i) {  // the first one, of 2 s, runs over the nine behind it
    events += kernel("k", std::to_string(1000 + 10 * i), i == 0 ? "2000000" : "5",
                     "\"grid\": [" + std::to_string(i) + ", 1, 1]") +
              ",";
  }
  events += kernel("days later", "200000000000", "5", "\"grid\": [77, 1, 1]");
  const LinkedTrace linked = link_with_details(trace_of(events));
  const RankDetail& detail = *linked.detail;
  REQUIRE(linked.trace.gpu.size() == 10);
  CHECK(linked.trace.gpu.duration_ns[0] == 5'000);  // as the nine others
  for (size_t i = 0; i < 10; ++i) {
    CHECK(detail.shapes[static_cast<size_t>(detail.gpu.shape[i])].grid[0] == static_cast<int64_t>(i));
    CHECK(detail.gpu.place[i] == 9 - static_cast<int32_t>(i));
  }
}

TEST_CASE("a call keeps the texts of its collective, the kernel's before the operator's") {
  const std::string comm =
      R"("Collective name": "alltoallv", "dtype": "Float", "Process Group Name": "0", "Group size": 2, "Process Group Ranks": "[0, 1]")";
  const LinkedTrace linked = link_with_details(trace_of(
      host("cpu_op", "record_param_comms", "7", "1", "9",
           args(R"("External id": 4, "In split size": "[1, 3]", "Out split size": "[9]", )" + comm)) +
      "," + host("cuda_runtime", "cudaLaunchKernel", "7", "2", "1", args("\"correlation\": 2, \"External id\": 4")) +
      "," +
      kernel("ncclDevKernel_SendRecv(x)", "60", "5",
             R"("correlation": 2, "External id": 4, "Out split size": "[2, 2]", )" + comm) +
      "," + kernel("ncclDevKernel_SendRecv(x)", "70", "5", "\"correlation\": 5")));
  const CallDetails& calls = linked.detail->calls;
  const auto text = [&](StringId id) { return std::string(linked.strings.view(id)); };
  REQUIRE(calls.size() == 2);
  CHECK(text(calls.name[0]) == "alltoallv");
  CHECK(text(calls.dtype[0]) == "Float");
  CHECK(text(calls.group_name[0]) == "0");
  CHECK(text(calls.group_ranks[0]) == "[0, 1]");
  CHECK(calls.group_size == std::vector<int64_t>{2, -1});
  CHECK(text(calls.in_split[0]) == "[1, 3]");
  CHECK(text(calls.out_split[0]) == "[2, 2]");
  CHECK_FALSE(calls.name[1].known());
  CHECK_FALSE(calls.in_split[1].known());
}

TEST_CASE("the place of an event counts every element of traceEvents") {
  const LinkedTrace linked = link_with_details(trace_of(
      R"({"ph": "M", "name": "process_name", "pid": 5, "tid": 0, "args": {"name": "python"}},
         {"ph": "s", "id": 1, "pid": 5, "tid": 6, "ts": 1, "cat": "ac2g", "name": "ac2g"},
         {"ph": "i", "s": "g", "name": "Iteration Start", "pid": 5, "tid": 6, "ts": 1}, )" +
      host("cpu_op", "aten::add", "6", "1", "1") + "," + host("cuda_sync", "Event Sync", "6", "1", "1") + "," +
      kernel("k", "3", "1")));
  CHECK(linked.detail->host.place == std::vector<int32_t>{3});
  CHECK(linked.detail->gpu.place == std::vector<int32_t>{5});
}

TEST_CASE("sequence numbers and threads that are none or do not fit are left out") {
  std::string events;
  for (const char* number : {"\"x\"", "-7", "9999999999", "99999999999999999999", "null", "N/A"}) {
    events += (events.empty() ? "" : ",") +
              host("cpu_op", "op", "7", "1", "1",
                   args(std::string("\"Sequence number\": ") + number + ", \"Fwd thread id\": " + number));
  }
  const LinkedTrace linked = link_with_details(trace_of(events));
  for (size_t i = 0; i < linked.detail->host.size(); ++i) {
    CAPTURE(i);
    CHECK(linked.detail->host.sequence[i] == -1);
    CHECK(linked.detail->host.forward_thread[i] == 0);
  }
}

TEST_CASE("metadata name processes and threads wherever they stand, the last one counts") {
  const auto metadata = [](const std::string& what, const std::string& pid, const std::string& tid,
                           const std::string& key, const std::string& text) {
    return R"({"ph": "M", "name": ")" + what + R"(", "ts": 1, "pid": )" + pid + ", \"tid\": " + tid +
           R"(, "args": {")" + key + "\": \"" + text + "\"}}";
  };
  const LinkedTrace linked = link_with_details(
      trace_of(metadata("thread_name", "5", "7", "name", "first") + "," + host("cpu_op", "a", "8", "1", "1") + "," +
               host("cpu_op", "b", "7", "1", "1") + "," + host("cpu_op", "c", "\"Spans\"", "1", "1") + "," +
               metadata("process_name", "5", "0", "name", "python3") + "," +
               metadata("process_labels", "5", "0", "labels", "CPU") + "," +
               metadata("thread_name", "5", "7", "name", "thread 7 (main)") + "," +
               metadata("thread_name", "5", "\"Spans\"", "name", "the spans") + "," +
               metadata("thread_name", "6", "8", "name", "of another process") + "," +
               metadata("process_sort_index", "5", "0", "sort_index", "5")));
  const std::vector<HostThread>& threads = linked.detail->threads;
  REQUIRE(threads.size() == 3);
  CHECK(threads[0].process == 5);
  CHECK(threads[0].thread == 7);
  CHECK(threads[0].process_name == "python3");
  CHECK(threads[0].process_label == "CPU");
  CHECK(threads[0].name == "thread 7 (main)");
  CHECK(threads[1].thread == 8);
  CHECK(threads[1].name.empty());
  CHECK(threads[2].name == "the spans");
}

TEST_CASE("the name of a python function has no addresses") {
  const LinkedTrace linked = link_with_details(
      trace_of(host("python_function", "<built-in method items of dict object at 0x7f2e8b947bd0>", "7", "1", "1") +
               "," + host("python_function", "<built-in method items of dict object at 0xA1>", "7", "2", "1") + "," +
               host("python_function", "<f at 0x1 of g at 0x2", "7", "3", "1") + "," +
               host("cpu_op", "op at 0x7f", "7", "4", "1")));
  CHECK(names(linked) == Names{"<built-in method items of dict object>", "<built-in method items of dict object>",
                               "<f of g", "op at 0x7f"});
  CHECK(linked.detail->host.name[0] == linked.detail->host.name[1]);
}

TEST_CASE("GPU annotations of every name are kept, and all rows are moved by the base time") {
  const auto annotation = [](const std::string& name, const std::string& stamp) {
    return R"({"ph": "X", "cat": "gpu_user_annotation", "name": ")" + name + R"(", "pid": 1, "tid": 20, "ts": )" +
           stamp + ", \"dur\": 4}";
  };
  const LinkedTrace linked =
      link_with_details(trace_of(annotation("ProfilerStep#2", "9") + "," + annotation("nccl:all_reduce", "3") + "," +
                                     host("cpu_op", "a", "8", "1", "1"),
                                 "", R"(, "baseTimeNanoseconds": 1000000000)"));
  const GpuAnnotations& annotations = linked.detail->gpu_annotations;
  CHECK(annotations.start == std::vector<LocalNs>{LocalNs{1'000'003'000}, LocalNs{1'000'009'000}});
  CHECK(annotations.duration_ns == std::vector<int64_t>{4'000, 4'000});
  CHECK(linked.strings.view(annotations.name[1]) == "ProfilerStep#2");
  CHECK(annotations.device == std::vector<int32_t>{1, 1});
  CHECK(annotations.stream == std::vector<int32_t>{20, 20});
  CHECK(linked.detail->host.start[0] == LocalNs{1'000'001'000});
}

TEST_CASE("properties of devices are read by id, absent and absurd ones left out") {
  const LinkedTrace linked = link_with_details(trace_of(
      host("cpu_op", "a", "8", "1", "1"),
      R"("deviceProperties": [{"id": 1, "name": "NVIDIA B200", "totalGlobalMem": 191514411008, "computeMajor": 10,
         "computeMinor": 0, "maxThreadsPerMultiprocessor": 2048, "warpSize": 32, "numSms": 148},
         {"id": 0, "numSms": 99999999999, "warpSize": "32"}], )"));
  REQUIRE(linked.detail->devices.size() == 2);
  const DeviceProperties& told = linked.detail->devices[1];
  CHECK(told.name == "NVIDIA B200");
  CHECK(told.memory_bytes == 191514411008);
  CHECK(told.sms == 148);
  CHECK(told.threads_per_sm == 2048);
  CHECK(told.warp_size == 32);
  CHECK(told.compute_major == 10);
  CHECK(told.compute_minor == 0);
  CHECK(linked.detail->devices[0].sms == -1);
  CHECK(linked.detail->devices[0].warp_size == 32);
}

TEST_CASE("spellings of 2021 are read") {
  const LinkedTrace linked = link_with_details(trace_of(
      host("Operator", "aten::add", "7", "1", "9", args("\"external id\": 4")) + "," +
      host("Runtime", "cudaLaunchKernel", "7", "2", "1", args("\"correlation\": 4, \"external id\": 4")) + "," +
      R"({"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 5, "dur": 1, "args": {"correlation": 4}})"));
  CHECK(linked.detail->host.kind == std::vector<HostKind>{HostKind::op, HostKind::call});
  CHECK(linked.detail->gpu.caller == std::vector<int32_t>{1});
}

TEST_CASE("what stamps and labels say of a file is told by the rows that are kept without details") {
  const std::string text =
      trace_of(kernel("k", "3", "1") + "," + host("python_function", "f", "7", "1.5", "1.25") + "," +
               R"({"ph": "M", "name": "thread_name", "pid": 5, "tid": 7, "args": {"name": "rank 3"}},
                  {"ph": "M", "name": "process_name", "pid": 5, "tid": 0, "args": {"name": "rank 4"}})");
  CHECK(link_with_details(text).trace.resolution_ns == 1000);
  CHECK(read_text(text, with_details()).kind == ContentKind::rank_trace);
}

TEST_CASE("a step keeps the host rows that start in it, and what was launched in it") {
  const auto step = [](int n) {
    return host("user_annotation", "ProfilerStep#" + std::to_string(n), "7", std::to_string(100 * n), "100");
  };
  const auto launched = [](int n) {
    const std::string id = std::to_string(n);
    return host("cuda_runtime", "cudaLaunchKernel", "8", id + "50", "1", args("\"correlation\": " + id)) + "," +
           kernel("k" + id, id + "60", "5", "\"correlation\": " + id + ", \"grid\": [" + id + ", 1, 1]") +
           R"(,{"ph": "X", "cat": "gpu_user_annotation", "name": "range )" + id + R"(", "pid": 0, "tid": 20, "ts": )" +
           id + "59, \"dur\": 7}";
  };
  TraceFile file;
  file.linked =
      link_with_details(trace_of(step(1) + "," + launched(1) + "," + step(2) + "," + launched(2) + "," + step(3) + "," +
                                 launched(3) + "," + host("python_function", "all steps", "7", "50", "900")));
  keep_steps(file, {2, 3});
  const RankDetail& detail = *file.linked.detail;
  CHECK(check_invariants(detail, file.linked.trace) == "");
  CHECK(names(file.linked) == Names{"ProfilerStep#2", "cudaLaunchKernel"});
  CHECK(detail.gpu.caller == std::vector<int32_t>{1});
  CHECK(detail.shapes[static_cast<size_t>(detail.gpu.shape[0])].grid[0] == 2);
  REQUIRE(detail.gpu_annotations.size() == 1);
  CHECK(file.linked.strings.view(detail.gpu_annotations.name[0]) == "range 2");
}

TEST_CASE("allocations and frees are kept by time, with what is held after each; an arrow or another instant is not") {
  const auto memory = [](const std::string& stamp, const std::string& bytes, const std::string& held,
                         const std::string& type, const std::string& device) {
    return R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 5, "tid": 7, "ts": )" +
           stamp +
           args("\"Total Reserved\": 4096, \"Total Allocated\": " + held + ", \"Bytes\": " + bytes +
                ", \"Addr\": 99, \"Device Id\": " + device + ", \"Device Type\": " + type + ", \"Ev Idx\": 1") +
           "}";
  };
  const std::string text = trace_of(
      host("cpu_op", "aten::empty", "7", "10", "50") + "," + memory("30.5", "-512", "100", "1", "0") + "," +
      memory("20", "512", "612", "1", "0") + "," + memory("40", "8", "8", "0", "-1") + "," +
      R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[OutOfMemory]", "pid": 5, "tid": 7, "ts": 50})");
  const LinkedTrace linked = link_with_details(text);
  const MemoryEvents& events = linked.detail->memory;
  REQUIRE(events.size() == 3);
  CHECK(events.at == std::vector<LocalNs>{LocalNs{20'000}, LocalNs{30'500}, LocalNs{40'000}});
  CHECK(events.bytes == std::vector<int64_t>{512, -512, 8});
  CHECK(events.allocated == std::vector<int64_t>{612, 100, 8});
  CHECK(events.reserved == std::vector<int64_t>{4096, 4096, 4096});
  CHECK(events.device == std::vector<int32_t>{0, 0, -1});
  CHECK(events.address == std::vector<int64_t>{99, 99, 99});
  CHECK(events.thread == std::vector<int32_t>{0, 0, 0});
  CHECK(linked.detail->host.size() == 1);
}

TEST_CASE("operators of PyTorch 1.8 to 1.12 keep their call stack; one that is empty is none") {
  const LinkedTrace linked = link_with_details(trace_of(
      host("cpu_op", "aten::mm", "7", "1", "1", args(R"("Call stack": "model.py(3): forward;train.py(9): main;")")) +
      "," + host("cpu_op", "aten::add", "7", "3", "1", args(R"("Input Dims": [[8]], "Call stack": "")")) + "," +
      host("cpu_op", "aten::mul", "7", "5", "1", args(R"("Call stack": "")"))));
  const RankDetail& detail = *linked.detail;
  CHECK(detail.host.arguments == std::vector<int32_t>{0, 1, -1});
  REQUIRE(detail.arguments.size() == 2);
  CHECK(linked.strings.view(detail.arguments[0].call_stack) == "model.py(3): forward;train.py(9): main;");
  CHECK_FALSE(detail.arguments[1].call_stack.known());
}
