// rocprofv3's JSON, put together of the lists that are read.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../../temporary_folder.h"
#include "src/ingest/trace_readers.h"

namespace skewscope::ingest {

// Agent 70 is the host, 71 and 72 are GPUs 0 and 1.
constexpr const char* kAgents = R"([
  {"id": {"handle": 70}, "type": 1, "logical_node_type_id": 0, "product_name": "EPYC"},
  {"id": {"handle": 71}, "type": 2, "logical_node_type_id": 0, "product_name": "MI300X"},
  {"id": {"handle": 72}, "type": 2, "logical_node_type_id": 1, "product_name": "MI300X"}])";
// Kinds 0 to 3; what the markers of two correlations say.
constexpr const char* kStrings = R"({"buffer_records": [
  {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel", "hipDeviceSynchronize", "hipGetDevice", "hipMemcpyAsync"]},
  {"kind": "RCCL_API", "operations": ["ncclAllReduce", "ncclGroupStart", "ncclSend"]},
  {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_HOST_TO_DEVICE"]},
  {"kind": "MARKER_CORE_RANGE_API", "operations": ["roctxMarkA", "roctxThreadRangeA"]}],
  "marker_api": [{"key": 500, "value": "ProfilerStep#3"}, {"key": 501, "value": "load"}]})";
constexpr const char* kSymbols = R"x([
  {"kernel_id": 8, "kernel_name": "gemm.kd", "formatted_kernel_name": "gemm(float*)"},
  {"kernel_id": 9, "kernel_name": "ncclDevKernel_Generic_1.kd",
   "formatted_kernel_name": "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"}])x";

struct RocprofLists {
  std::string dispatches, hip_calls, rccl_calls, copies, markers;  // objects, with commas between them
  int64_t process = 4242;
  std::string environment = "{}";
};

inline std::string rocprof_process(const RocprofLists& lists) {
  return R"({"metadata": {"node": {"hostname": "node7"}, "pid": )" + std::to_string(lists.process) +
         R"(, "environment": )" + lists.environment + R"(}, "agents": )" + kAgents + R"(, "strings": )" + kStrings +
         R"(, "kernel_symbols": )" + kSymbols + R"(, "buffer_records": {"kernel_dispatch": [)" + lists.dispatches +
         R"(], "hip_api": [)" + lists.hip_calls + R"(], "rccl_api": [)" + lists.rccl_calls + R"(], "memory_copy": [)" +
         lists.copies + R"(], "marker_api": [)" + lists.markers + "]}}";
}

inline std::string rocprof_text(const RocprofLists& lists) {
  return R"({"rocprofiler-sdk-tool": [)" + rocprof_process(lists) + "]}";
}

inline std::string dispatch(int64_t start_ns, int64_t end_ns, int kernel = 8, int64_t correlation = 1, int agent = 71,
                            int stream = 5) {
  const auto text = [](auto number) { return std::to_string(number); };
  return R"({"kind": 11, "operation": 2, "thread_id": 9, "correlation_id": {"internal": )" + text(correlation) +
         R"(, "external": 0}, "start_timestamp": )" + text(start_ns) + R"(, "end_timestamp": )" + text(end_ns) +
         R"(, "dispatch_info": {"agent_id": {"handle": )" + text(agent) + R"(}, "kernel_id": )" + text(kernel) +
         R"(}, "stream_id": {"handle": )" + text(stream) + "}}";
}

inline std::string host_call(int kind, int operation, int64_t start_ns, int64_t end_ns, int64_t correlation) {
  const auto text = [](auto number) { return std::to_string(number); };
  return R"({"kind": )" + text(kind) + R"(, "operation": )" + text(operation) +
         R"(, "thread_id": 9, "correlation_id": {"internal": )" + text(correlation) + R"(}, "start_timestamp": )" +
         text(start_ns) + R"(, "end_timestamp": )" + text(end_ns) + "}";
}

inline std::vector<FileContent> read_rocprof(const std::string& text, int64_t limit = 0) {
  const test::Folder folder("rocprof");
  std::filesystem::create_directories(folder.path);
  const std::filesystem::path file = folder.path / "4242_results.json";
  std::ofstream(file, std::ios::binary) << text;
  MemoryBudget budget(limit);
  Result<std::vector<FileContent>> contents = TraceReaders().read(file.string(), budget);
  REQUIRE(contents.ok());
  return std::move(contents).value();
}

inline int64_t counted_rows(const FileContent& content, FindingCode code) {
  int64_t count = 0;
  for (const Finding& finding : content.findings) count += finding.code == code ? finding.count : 0;
  return count;
}

}  // namespace skewscope::ingest
