// Names go ahead of the rows that refer to them by number, so the rows of each list are gathered first.
#include "rocprof_file.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "rocm_rows.h"

namespace skewscope::simulate {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kHostHandle = 70, kGpuHandle = 71;
constexpr int kTypeOfHost = 1, kTypeOfGpu = 2;
constexpr int kDispatchKind = 11, kDispatchComplete = 2;
enum NamedKind : size_t { kHipKind, kRcclKind, kCopyKind, kMarkerKind };
constexpr const char* kKindNames[] = {"HIP_RUNTIME_API", "RCCL_API", "MEMORY_COPY", "MARKER_CORE_RANGE_API"};
constexpr size_t kNamedKinds = std::size(kKindNames);

class RocprofFile : public RocmRows {
 public:
  explicit RocprofFile(const SimulatedRank& rank)
      : rank_(rank), next_number_(static_cast<int64_t>(rank.file.linked.trace.launches.size()) + kFirstOfOthers) {}

  bool write(const std::string& path) {
    walk_rocm_rows(rank_, *this);
    const Json document = {{"rocprofiler-sdk-tool", Json::array({process()})}};
    std::ofstream file(path, std::ios::binary);
    file << document;
    file.close();
    return !file.fail();
  }

  void add(const RocmOperation& operation) override {
    Json row = operation.is_copy ? record(kCopyKind, operation_number(kCopyKind, operation.name))
                                 : record(kDispatchKind, kDispatchComplete);
    add_times(operation.start_ns, operation.end_ns, row);
    row["thread_id"] = rank_.main_thread;
    row["correlation_id"] = {{"internal", operation.launch}, {"external", 0}};
    row["stream_id"] = handle(operation.stream);
    if (operation.is_copy) {
      row["dst_agent_id"] = handle(operation.to_host ? kHostHandle : kGpuHandle);
      row["src_agent_id"] = handle(operation.to_host ? kGpuHandle : kHostHandle);
      row["bytes"] = kRocmCopyBytes;
      copies_.push_back(std::move(row));
      return;
    }
    row["dispatch_info"] = {{"agent_id", handle(kGpuHandle)},
                            {"kernel_id", kernel(operation.name)},
                            {"workgroup_size", size(kRocmThreads)},
                            {"grid_size", size(operation.blocks * kRocmThreads)}};
    dispatches_.push_back(std::move(row));
  }

  void add(const RocmCall& call) override {
    const NamedKind kind = call.kind == RocmCallKind::hip    ? kHipKind
                           : call.kind == RocmCallKind::rccl ? kRcclKind
                                                             : kMarkerKind;
    const bool marker = kind == kMarkerKind;
    const int64_t number = call.number > 0 ? call.number : next_number_++;
    Json row = record(kind, operation_number(kind, marker ? "roctxThreadRangeA" : call.name));
    add_times(call.start_ns, call.end_ns, row);
    row["thread_id"] = call.thread;
    row["correlation_id"] = {{"internal", number}, {"external", 0}};
    if (marker) marker_names_.push_back({{"key", number}, {"value", call.name}});
    (marker ? markers_ : kind == kRcclKind ? rccl_calls_ : hip_calls_).push_back(std::move(row));
  }

 private:
  static Json record(int64_t kind, int64_t operation) { return {{"kind", kind}, {"operation", operation}}; }
  static Json handle(int64_t number) { return {{"handle", number}}; }
  static Json size(int64_t x) { return {{"x", x}, {"y", 1}, {"z", 1}}; }
  static void add_times(int64_t start_ns, int64_t end_ns, Json& row) {
    row["start_timestamp"] = start_ns;
    row["end_timestamp"] = end_ns;
  }

  int64_t operation_number(NamedKind kind, std::string_view name) {
    std::map<std::string, int64_t, std::less<>>& numbers = operations_[kind];
    return numbers.try_emplace(std::string(name), std::ssize(numbers)).first->second;
  }

  int64_t kernel(std::string_view name) {
    const auto [known, added] = kernels_.try_emplace(std::string(name), std::ssize(kernels_) + 1);
    if (added) symbols_.push_back({{"kernel_id", known->second}, {"formatted_kernel_name", name}});
    return known->second;
  }

  Json process() const {
    const TraceFile& file = rank_.file;
    const std::vector<std::string>& devices = file.linked.device_names;
    const Json environment = {{"RANK", std::to_string(rank_.rank)},
                              {"WORLD_SIZE", std::to_string(file.evidence.distributed.world_size)}};
    const Json agents = {
        {{"id", handle(kHostHandle)}, {"type", kTypeOfHost}, {"logical_node_type_id", 0}, {"product_name", "cpu"}},
        {{"id", handle(kGpuHandle)},
         {"type", kTypeOfGpu},
         {"logical_node_type_id", file.linked.trace.device},
         {"product_name", devices.empty() ? "" : devices.front()}}};
    return {{"metadata",
             {{"node", {{"hostname", file.evidence.host}}}, {"pid", rank_.process}, {"environment", environment}}},
            {"agents", agents},
            {"strings", {{"buffer_records", operation_names()}, {"marker_api", marker_names_}}},
            {"kernel_symbols", symbols_},
            {"buffer_records",
             {{"kernel_dispatch", dispatches_},
              {"hip_api", hip_calls_},
              {"marker_api", markers_},
              {"rccl_api", rccl_calls_},
              {"memory_copy", copies_}}}};
  }

  Json operation_names() const {
    Json kinds = Json::array();
    for (size_t kind = 0; kind < kNamedKinds; ++kind) {
      std::vector<std::string> names(operations_[kind].size());
      for (const auto& [name, number] : operations_[kind]) names[static_cast<size_t>(number)] = name;
      kinds.push_back({{"kind", kKindNames[kind]}, {"operations", names}});
    }
    return kinds;
  }

  static constexpr int64_t kFirstOfOthers = int64_t{1} << 32;  // correlations of calls that launch nothing

  const SimulatedRank& rank_;
  int64_t next_number_;
  std::map<std::string, int64_t, std::less<>> operations_[kNamedKinds], kernels_;
  Json symbols_ = Json::array(), marker_names_ = Json::array();
  Json dispatches_ = Json::array(), copies_ = Json::array(), hip_calls_ = Json::array(), rccl_calls_ = Json::array(),
       markers_ = Json::array();
};

}  // namespace

bool write_rocprof_file(const std::vector<SimulatedRank>& ranks, const std::string& path) {
  return RocprofFile(ranks.front()).write(path);
}

std::string rocprof_file_name(const TraceFile& rank, int64_t process) {
  return fmt::format("{}-{}_results.json", rank.evidence.host, process);
}

}  // namespace skewscope::simulate
