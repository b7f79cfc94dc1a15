// What the tables hold is in src/ingest/ascend/README.md. A call has two tasks: one waits for the signal of the last
// member, one moves bytes from then on.
#include "ascend_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sqlite_file.h"

namespace skewscope::simulate {
namespace {

using Null = SqliteFile::Null;
using Value = SqliteFile::Value;

constexpr const char* kAscendTables = R"(
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE ENUM_HCCL_DATA_TYPE (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE META_DATA (name TEXT, value TEXT);
CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);
CREATE TABLE NPU_INFO (id INTEGER, name TEXT);
CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,
  globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER, taskType INTEGER);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER,
  groupName INTEGER, opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER,
  count NUMERIC, opType INTEGER);
CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER, globalTaskId INTEGER, taskType INTEGER, planeId INTEGER,
  groupName INTEGER, srcRank INTEGER, dstRank INTEGER, size INTEGER, opId INTEGER);
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER,
  connectionId INTEGER PRIMARY KEY, name INTEGER);
CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER,
  type INTEGER);
CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);
)";

struct HcclWireType {
  DType dtype;
  int64_t id;
  std::string_view name;
};
constexpr HcclWireType kHcclWireTypes[] = {{DType::float32, 4, "FP32"}, {DType::bfloat16, 11, "BFP16"}};

const char* hccl_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
      return "hcom_allGather_";
    case CollectiveKind::reduce_scatter:
      return "hcom_reduceScatter_";
    case CollectiveKind::all_to_all:
      return "hcom_alltoallv_";
    case CollectiveKind::send:
      return "hcom_send_";
    case CollectiveKind::recv:
      return "hcom_receive_";
    default:  // all that a simulated job has besides
      return "hcom_allReduce_";
  }
}

// HCCL's interface counts what a rank gives; of a reduce-scatter what it gets; of an all-to-all nothing in all.
Value count_of(const CollectiveCall& call) {
  switch (call.kind) {
    case CollectiveKind::all_to_all:
      return Null();
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::recv:
      return call.out_elements;
    default:
      return call.in_elements;
  }
}

// Groups are called so that their hashes are in the order of their names, in which reports list groups of the same
// members.
std::string key_of(const std::string& group) { return fmt::format("group_name_{:-<5}", group); }

class AscendFile {
 public:
  AscendFile(const SimulatedRank& rank, const std::string& path)
      : rank_(rank), trace_(rank.file.linked.trace), file_(path, kAscendTables) {}

  bool write() {
    add_rank();
    for (const HcclWireType& type : kHcclWireTypes) file_.add("ENUM_HCCL_DATA_TYPE", {type.id, type.name});
    call_of_row_.assign(trace_.gpu.size(), -1);
    for (size_t call = 0; call < trace_.calls.size(); ++call)
      call_of_row_[static_cast<size_t>(trace_.calls[call].gpu_row)] = static_cast<int32_t>(call);
    for (size_t row = 0; row < trace_.gpu.size(); ++row) {
      if (call_of_row_[row] >= 0)
        add_call(static_cast<size_t>(call_of_row_[row]));
      else
        add_kernel(row);
    }
    add_host_rows();
    for (const StepRange& step : trace_.steps)
      file_.add("STEP_TIME", {step.number, step.start.ns, step.start.ns + step.duration_ns});
    return file_.close();
  }

 private:
  int64_t text(std::string_view value) {
    const auto [known, added] = texts_.try_emplace(std::string(value), std::ssize(texts_));
    if (added) file_.add("STRING_IDS", {known->second, value});
    return known->second;
  }

  void add_rank() {
    file_.add("RANK_DEVICE_MAP", {int64_t{rank_.rank}, int64_t{trace_.device}});
    file_.add("HOST_INFO", {std::string_view("1"), std::string_view(rank_.file.evidence.host)});
    const std::vector<std::string>& devices = rank_.file.linked.device_names;
    for (size_t i = 0; i < devices.size(); ++i)
      file_.add("NPU_INFO", {static_cast<int64_t>(i), std::string_view(devices[i])});
    std::string groups;
    for (const ProcessGroup& group : rank_.file.evidence.distributed.groups) {
      groups += fmt::format(R"({}"{}": {{"group_name": "{}", "global_ranks": [{}]}})", groups.empty() ? "" : ", ",
                            key_of(group.name), group.description, fmt::join(group.ranks.ranks(), ", "));
    }
    groups = "{" + groups + "}";
    file_.add("META_DATA", {std::string_view("parallel_group_info"), std::string_view(groups)});
  }

  Value connection_of(size_t row) const {
    const int32_t launch = trace_.gpu.launch[row];
    return launch < 0 ? Value(int64_t{-1}) : Value(int64_t{launch});
  }

  // The number of the task.
  int64_t add_task(int64_t start, int64_t end, size_t row, const char* type) {
    const int64_t task = tasks_++;
    file_.add("TASK", {start, end, int64_t{trace_.gpu.device[row]}, connection_of(row), task, rank_.process, text(type),
                       Null(), int64_t{trace_.gpu.stream[row]}, task, Null()});
    return task;
  }

  // A fill is a kernel.
  void add_kernel(size_t row) {
    const GpuEvents& gpu = trace_.gpu;
    const int64_t start = gpu.start[row].ns, end = start + gpu.duration_ns[row];
    const bool copies = gpu.work[row] == GpuWork::memcpy;
    const int64_t task = add_task(start, end, row, copies ? "MEMCPY_ASYNC" : "KERNEL_AICORE");
    if (copies) return;
    const std::string_view name = rank_.file.linked.strings.view(gpu.name[row]);
    file_.add("COMPUTE_TASK_INFO", {text(name), task, int64_t{rank_.blocks[row]}, text("AI_CORE")});
  }

  void add_call(size_t at) {
    const CollectiveCall& call = trace_.calls[at];
    const OpenCall& open = rank_.file.linked.open_calls[at];
    const GroupMention& group = rank_.file.linked.groups[static_cast<size_t>(open.group)];
    const int64_t number = call.seq >= 0 ? call.seq : ++numbers_[open.group];
    const auto op = static_cast<int64_t>(at);
    const int64_t name = text(fmt::format("{}_{:0>3}_{}_1", hccl_name(call.kind), group.name, number));
    const int64_t group_name = text(key_of(group.name));
    const auto* const type = std::find_if(std::begin(kHcclWireTypes), std::end(kHcclWireTypes),
                                          [&](const HcclWireType& t) { return t.dtype == call.dtype; });
    const auto row = static_cast<size_t>(call.gpu_row);
    const int64_t start = call.start.ns, end = call.end().ns;
    file_.add("COMMUNICATION_OP", {name, start, end, connection_of(row), group_name, op, int64_t{0}, int64_t{0},
                                   type == std::end(kHcclWireTypes) ? Value(Null()) : Value(type->id), text("RING"),
                                   count_of(call), text(hccl_name(call.kind))});
    const int64_t arrived = std::min(start + rank_.waits[at], end);
    if (arrived > start) add_part(call, start, arrived, {name, group_name, op, peer_of(at), 0}, "Notify_Wait");
    if (end > arrived) add_part(call, arrived, end, {name, group_name, op, peer_of(at), 4096}, "Memcpy");
  }

  struct Part {
    int64_t name, group_name, op, peer, bytes;
  };
  void add_part(const CollectiveCall& call, int64_t start, int64_t end, const Part& part, const char* type) {
    const int64_t task = add_task(start, end, static_cast<size_t>(call.gpu_row), type);
    file_.add("COMMUNICATION_TASK_INFO", {part.name, task, text(type), int64_t{0}, part.group_name, Null(),
                                          part.peer < 0 ? Value(Null()) : Value(part.peer), part.bytes, part.op});
  }

  // Inside the group; -1: it is with all.
  int64_t peer_of(size_t call) const { return rank_.file.linked.open_calls[call].peer_in_group; }

  // One number for each: those of launches are what their tasks are connected by.
  void add_host_rows() {
    const LaunchEvents& launches = trace_.launches;
    int64_t connection = 0;
    const auto add = [&](LocalNs start, int64_t duration_ns, int64_t thread, const char* name) {
      file_.add("CANN_API", {start.ns, start.ns + duration_ns, int64_t{20000}, rank_.process << 32 | thread,
                             connection++, text(name)});
    };
    for (size_t i = 0; i < launches.size(); ++i)
      add(launches.start[i], launches.duration_ns[i], launches.thread[i], "launch");
    for (const LostLaunch& lost : rank_.lost_launches) add(lost.at, 5000, rank_.main_thread, "launch");
    for (const SynchronizingCall& call : trace_.synchronizing)
      add(call.start, call.duration_ns, rank_.main_thread, "aclrtSynchronizeDevice");
  }

  const SimulatedRank& rank_;
  const RankTrace& trace_;
  SqliteFile file_;
  std::map<std::string, int64_t, std::less<>> texts_;
  std::vector<int32_t> call_of_row_;    // -1: no call
  std::map<int32_t, int64_t> numbers_;  // of the last call, by group
  int64_t tasks_ = 0;
};

}  // namespace

std::string ascend_file_name(const TraceFile& rank, int64_t) {
  return fmt::format("{}-ascend_pytorch_profiler_{}.db", rank.evidence.host, rank.evidence.distributed.rank);
}

bool write_ascend_file(const std::vector<SimulatedRank>& ranks, const std::string& path) {
  return AscendFile(ranks.front(), path).write();
}

}  // namespace skewscope::simulate
