#include "rocpd_file.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "collectives/kind.h"
#include "sqlite_file.h"

namespace skewscope::simulate {
namespace {

using Null = SqliteFile::Null;
using Value = SqliteFile::Value;

constexpr const char* kRocpdTables = R"(
CREATE TABLE rocpd_metadata_00000e75 (id INTEGER PRIMARY KEY AUTOINCREMENT, tag TEXT NOT NULL, value TEXT NOT NULL);
CREATE TABLE rocpd_string_00000e75 (id INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT, string TEXT NOT NULL);
CREATE TABLE rocpd_info_node_00000e75 (id INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT, hash BIGINT, machine_id TEXT,
  hostname TEXT);
CREATE TABLE rocpd_info_process_00000e75 (id INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT, nid INTEGER, ppid INTEGER,
  pid INTEGER NOT NULL, command TEXT, environment JSONB);
CREATE TABLE rocpd_info_thread_00000e75 (id INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT, nid INTEGER, pid INTEGER,
  tid INTEGER, name TEXT);
CREATE TABLE rocpd_info_agent_00000e75 (id INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT, nid INTEGER, pid INTEGER,
  type TEXT, absolute_index INTEGER, type_index INTEGER, name TEXT, product_name TEXT);
CREATE TABLE rocpd_info_kernel_symbol_00000e75 (id INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT, nid INTEGER,
  pid INTEGER, kernel_name TEXT, display_name TEXT);
CREATE TABLE rocpd_event_00000e75 (id INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT, category_id INTEGER,
  stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER);
CREATE TABLE rocpd_region_00000e75 (id INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT, nid INTEGER, pid INTEGER,
  tid INTEGER, start BIGINT NOT NULL, "end" BIGINT NOT NULL, name_id INTEGER NOT NULL, event_id INTEGER);
CREATE TABLE rocpd_kernel_dispatch_00000e75 (id INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT, nid INTEGER, pid INTEGER,
  tid INTEGER, agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER, queue_id INTEGER, stream_id INTEGER,
  start BIGINT NOT NULL, "end" BIGINT NOT NULL, workgroup_size_x INTEGER, workgroup_size_y INTEGER,
  workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, event_id INTEGER);
CREATE TABLE rocpd_memory_copy_00000e75 (id INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT, nid INTEGER, pid INTEGER,
  tid INTEGER, start BIGINT NOT NULL, "end" BIGINT NOT NULL, name_id INTEGER NOT NULL, dst_agent_id INTEGER,
  src_agent_id INTEGER, size INTEGER NOT NULL, queue_id INTEGER, stream_id INTEGER, event_id INTEGER);
)";

constexpr std::string_view kGuid = "00000e75";
constexpr int64_t kHostAgent = 1, kGpuAgent = 2;
// All kernels of RCCL are called that.
constexpr std::string_view kGenericKernel = "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)";

const char* rccl_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
      return "ncclAllGather";
    case CollectiveKind::reduce_scatter:
      return "ncclReduceScatter";
    case CollectiveKind::all_to_all:
      return "ncclAllToAll";
    case CollectiveKind::send:
      return "ncclSend";
    case CollectiveKind::recv:
      return "ncclRecv";
    default:  // all that a simulated job has besides
      return "ncclAllReduce";
  }
}

class RocpdFile {
 public:
  RocpdFile(const std::string& path, const SimulatedRank& rank)
      : file_(path, kRocpdTables), rank_(rank), trace_(rank.file.linked.trace) {}

  bool write() {
    add_process();
    call_names_.assign(trace_.launches.size(), "hipLaunchKernel");
    for (size_t row = 0; row < trace_.gpu.size(); ++row) add_gpu_row(row);
    for (size_t launch = 0; launch < trace_.launches.size(); ++launch) {
      add_region(trace_.launches.start[launch], trace_.launches.duration_ns[launch], trace_.launches.thread[launch],
                 call_names_[launch], stack_of(static_cast<int32_t>(launch)));
    }
    for (const LostLaunch& lost : rank_.lost_launches) {
      add_region(lost.at, 5000, rank_.main_thread, "hipLaunchKernel", next_stack_++);
      if (lost.by_collective) add_region(lost.at, 5001, rank_.main_thread, "ncclAllReduce", 0);
    }
    for (const CollectiveCall& call : trace_.calls) add_call(call);
    for (const SynchronizingCall& call : trace_.synchronizing)
      add_region(call.start, call.duration_ns, rank_.main_thread, "hipDeviceSynchronize", next_stack_++);
    for (const StepRange& step : trace_.steps)
      add_region(step.start, step.duration_ns, rank_.main_thread, fmt::format("ProfilerStep#{}", step.number), 0);
    return file_.close();
  }

 private:
  void add_process() {
    const TraceFile& file = rank_.file;
    file_.add("rocpd_metadata_00000e75", {int64_t{1}, std::string_view("schema_version"), std::string_view("3")});
    file_.add("rocpd_info_node_00000e75", {int64_t{1}, kGuid, int64_t{rank_.node}, std::string_view(file.evidence.host),
                                           std::string_view(file.evidence.host)});
    const std::string environment =
        fmt::format(R"({{"RANK": "{}", "WORLD_SIZE": "{}"}})", rank_.rank, file.evidence.distributed.world_size);
    file_.add("rocpd_info_process_00000e75", {int64_t{1}, kGuid, int64_t{1}, int64_t{1}, rank_.process,
                                              std::string_view("python3"), std::string_view(environment)});
    const std::vector<std::string>& devices = file.linked.device_names;
    const std::string gpu = devices.empty() ? "" : devices.front();
    file_.add("rocpd_info_agent_00000e75", {kHostAgent, kGuid, int64_t{1}, int64_t{1}, std::string_view("CPU"),
                                            int64_t{0}, int64_t{0}, std::string_view("cpu"), std::string_view("cpu")});
    file_.add("rocpd_info_agent_00000e75",
              {kGpuAgent, kGuid, int64_t{1}, int64_t{1}, std::string_view("GPU"), int64_t{trace_.device} + 1,
               int64_t{trace_.device}, std::string_view("gfx942"), std::string_view(gpu)});
  }

  int64_t stack_of(int32_t launch) const { return launch < 0 ? 0 : launch + int64_t{1}; }

  // 0: of nothing.
  Value event_of(int64_t stack) {
    if (stack == 0) return Null();
    const int64_t id = ++events_;
    file_.add("rocpd_event_00000e75", {id, kGuid, Null(), stack, int64_t{0}, int64_t{0}});
    return id;
  }

  int64_t text(std::string_view value) {
    const auto [known, added] = texts_.try_emplace(std::string(value), std::ssize(texts_) + 1);
    if (added) file_.add("rocpd_string_00000e75", {known->second, kGuid, value});
    return known->second;
  }

  int64_t kernel(std::string_view name) {
    const auto [known, added] = kernels_.try_emplace(std::string(name), std::ssize(kernels_) + 1);
    if (added)
      file_.add("rocpd_info_kernel_symbol_00000e75", {known->second, kGuid, int64_t{1}, int64_t{1}, name, name});
    return known->second;
  }

  void add_gpu_row(size_t row) {
    const GpuEvents& gpu = trace_.gpu;
    const int64_t start = gpu.start[row].ns, end = start + gpu.duration_ns[row], stream = gpu.stream[row];
    const int32_t launch = gpu.launch[row];
    const std::string_view name = rank_.file.linked.strings.view(gpu.name[row]);
    const Value event = event_of(stack_of(launch));
    const auto launched_by = [&](const char* call) {
      if (launch >= 0) call_names_[static_cast<size_t>(launch)] = call;
    };
    if (gpu.work[row] == GpuWork::memcpy) {
      const bool to_host = name.find("DtoH") != std::string_view::npos;
      launched_by("hipMemcpyAsync");
      file_.add(
          "rocpd_memory_copy_00000e75",
          {++copies_, kGuid, int64_t{1}, int64_t{1}, int64_t{1}, start, end,
           text(to_host ? "MEMORY_COPY_DEVICE_TO_HOST" : "MEMORY_COPY_HOST_TO_DEVICE"),
           to_host ? kHostAgent : kGpuAgent, to_host ? kGpuAgent : kHostAgent, int64_t{4096}, Null(), stream, event});
      return;
    }
    constexpr int64_t kThreads = 256;
    const bool fill = gpu.work[row] == GpuWork::memset, communicates = gpu.work[row] == GpuWork::communication;
    if (fill) launched_by("hipMemsetAsync");
    const int64_t blocks = rank_.blocks[row] > 0 ? rank_.blocks[row] : 1;
    const int64_t number = ++dispatches_;
    file_.add("rocpd_kernel_dispatch_00000e75", {number, kGuid, int64_t{1}, int64_t{1}, int64_t{1}, kGpuAgent,
                                                 kernel(fill           ? "__amd_rocclr_fillBufferAligned"
                                                        : communicates ? kGenericKernel
                                                                       : name),
                                                 number, int64_t{1}, stream, start, end, kThreads, int64_t{1},
                                                 int64_t{1}, blocks * kThreads, int64_t{1}, int64_t{1}, event});
  }

  void add_region(LocalNs start, int64_t duration_ns, int64_t thread, std::string_view name, int64_t stack) {
    const Value event = event_of(stack);
    file_.add("rocpd_region_00000e75",
              {++regions_, kGuid, int64_t{1}, int64_t{1}, thread, start.ns, start.ns + duration_ns, text(name), event});
  }

  // Around its launch.
  void add_call(const CollectiveCall& call) {
    const int32_t launch = call.gpu_row < 0 ? -1 : trace_.gpu.launch[static_cast<size_t>(call.gpu_row)];
    if (launch < 0) return;
    const auto at = static_cast<size_t>(launch);
    add_region(trace_.launches.start[at], trace_.launches.duration_ns[at] + 1, trace_.launches.thread[at],
               rccl_name(call.kind), 0);
  }

  SqliteFile file_;
  const SimulatedRank& rank_;
  const RankTrace& trace_;
  std::map<std::string, int64_t, std::less<>> texts_, kernels_;
  std::vector<const char*> call_names_;  // by launch
  int64_t events_ = 0, regions_ = 0, dispatches_ = 0, copies_ = 0, next_stack_ = int64_t{1} << 40;
};

}  // namespace

bool write_rocpd_file(const std::vector<SimulatedRank>& ranks, const std::string& path) {
  return RocpdFile(path, ranks.front()).write();
}

std::string rocpd_file_name(const TraceFile& rank, int64_t process) {
  return fmt::format("{}-{}_results.db", rank.evidence.host, process);
}

}  // namespace skewscope::simulate
