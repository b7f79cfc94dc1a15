#include "nsys_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <utility>

#include "collectives/kind.h"
#include "sqlite_file.h"

namespace skewscope::simulate {
namespace {

using Null = SqliteFile::Null;
using Value = SqliteFile::Value;

constexpr int64_t kMachine = int64_t{1} << 48;
constexpr int64_t kPushPopRange = 59, kStreamWaitsForEvent = 2;
constexpr int64_t kBeforeNs = 1'000'000'000;  // the session begins this much before the first row

constexpr const char* kTables = R"(
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, cuDevice INTEGER);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
  gridX INTEGER, gridY INTEGER, gridZ INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER,
  dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER, eventSyncId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, eventId INTEGER, eventSyncId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
  globalTid INTEGER, textId INTEGER, domainId INTEGER, jsonText TEXT, binaryData BLOB);
CREATE TABLE NVTX_PAYLOAD_SCHEMAS (domainId INTEGER, schemaId INTEGER, payloadSize INTEGER);
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER, schemaId INTEGER, idx INTEGER, type INTEGER, name TEXT,
  offset INTEGER);
)";

// The schemas of NCCL 2.28, sizes with padding.
enum Schema : int64_t { kCommInit = 16777218, kAllReduce = 16777223, kAllGather = 16777220, kSendRecv = 16777226 };
constexpr int64_t kIntType = 5, kUint64Type = 18, kSizeType = 22, kNcclDomain = 1;

struct SchemaEntry {
  Schema schema;
  int64_t index, type;
  const char* name;
  int64_t offset;
};
constexpr SchemaEntry kSchemaEntries[] = {
    {kCommInit, 0, kUint64Type, "NCCL communicator ID", 0},
    {kCommInit, 1, kIntType, "No. of ranks", 8},
    {kCommInit, 2, kIntType, "Rank", 12},
    {kCommInit, 3, kIntType, "CUDA device", 16},
    {kAllReduce, 0, kUint64Type, "NCCL communicator ID", 0},
    {kAllReduce, 1, kSizeType, "Message size [bytes]", 8},
    {kAllReduce, 2, kIntType, "Reduction operation", 16},
    {kAllGather, 0, kUint64Type, "NCCL communicator ID", 0},
    {kAllGather, 1, kSizeType, "Message size [bytes]", 8},
    {kSendRecv, 0, kUint64Type, "NCCL communicator ID", 0},
    {kSendRecv, 1, kSizeType, "Message size [bytes]", 8},
    {kSendRecv, 2, kIntType, "Peer rank", 16},
};
constexpr std::pair<Schema, int64_t> kSchemaSizes[] = {
    {kCommInit, 24}, {kAllReduce, 24}, {kAllGather, 16}, {kSendRecv, 24}};

int64_t size_of(Schema schema) {
  for (const auto& [known, bytes] : kSchemaSizes) {
    if (known == schema) return bytes;
  }
  return 0;
}

// The communicator's number: equal on its members, different between groups, and in the order of their names, in which
// reports list groups of the same members.
uint64_t communicator_of(const GroupMention& group) {
  constexpr size_t kOfName = 4;
  uint64_t number = 0;
  for (size_t i = 0; i < kOfName; ++i)
    number = number << 8 | (i < group.name.size() ? static_cast<unsigned char>(group.name[i]) : 0);
  uint32_t hash = 0x811c9dc5;
  for (const char c : fmt::format("{} {} {}", group.ranks, group.rank_start, group.rank_stride))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  return number << 32 | hash;
}

std::string payload(Schema schema, uint64_t communicator, std::initializer_list<std::pair<int64_t, uint64_t>> wide,
                    std::initializer_list<std::pair<int64_t, int32_t>> narrow) {
  constexpr int64_t kHeader = 32;
  const int64_t size = size_of(schema);
  std::string data(static_cast<size_t>(kHeader + size), '\0');
  const auto put = [&](int64_t at, const auto& value) { std::memcpy(data.data() + at, &value, sizeof(value)); };
  put(0, static_cast<uint32_t>(kNcclDomain));
  put(8, static_cast<uint32_t>(schema));
  put(16, static_cast<uint64_t>(size));
  put(24, static_cast<uint64_t>(kHeader + size));
  put(kHeader, communicator);
  for (const auto& [at, value] : wide) put(kHeader + at, value);
  for (const auto& [at, value] : narrow) put(kHeader + at, value);
  return data;
}

const char* nccl_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
      return "ncclAllGather";
    case CollectiveKind::reduce_scatter:
      return "ncclReduceScatter";
    case CollectiveKind::send:
      return "ncclSend";
    case CollectiveKind::recv:
      return "ncclRecv";
    default:  // all that a simulated job has besides; an all-to-all is a group of messages
      return "ncclAllReduce";
  }
}

class NsysFile {
 public:
  explicit NsysFile(const std::string& path) : file_(path, kTables) {}

  bool write(const std::vector<SimulatedRank>& ranks) {
    zero_ns_ = INT64_MAX;
    for (const SimulatedRank& rank : ranks) zero_ns_ = std::min(zero_ns_, first_ns(rank) - kBeforeNs);
    add_session(ranks.front());
    for (const SimulatedRank& rank : ranks) add_rank(rank);
    return file_.close();
  }

 private:
  static int64_t first_ns(const SimulatedRank& rank) {
    const RankTrace& trace = rank.file.linked.trace;
    int64_t first = trace.first_event.ns;
    if (!trace.launches.start.empty()) first = std::min(first, trace.launches.start.front().ns);
    return first;
  }

  int64_t stamp(LocalNs time) const { return time.ns - zero_ns_; }

  int64_t text(std::string_view value) {
    const auto [known, added] = texts_.try_emplace(std::string(value), std::ssize(texts_));
    if (added) file_.add("StringIds", {known->second, value});
    return known->second;
  }

  void add_session(const SimulatedRank& rank) {
    file_.add("META_DATA_EXPORT", {std::string_view("EXPORT_SCHEMA_VERSION_MAJOR"), std::string_view("3")});
    file_.add("TARGET_INFO_SESSION_START_TIME", {zero_ns_});
    file_.add("TARGET_INFO_SYSTEM_ENV", {kMachine, std::string_view("Local (CLI)"), std::string_view("Hostname"),
                                         int64_t{619}, std::string_view(rank.file.evidence.host)});
    const std::vector<std::string>& devices = rank.file.linked.device_names;
    for (size_t i = 0; i < devices.size(); ++i) {
      const auto number = static_cast<int64_t>(i);
      file_.add("TARGET_INFO_GPU", {number, std::string_view(devices[i]), number});
    }
    for (const auto& [schema, bytes] : kSchemaSizes)
      file_.add("NVTX_PAYLOAD_SCHEMAS", {kNcclDomain, int64_t{schema}, bytes});
    for (const SchemaEntry& entry : kSchemaEntries) {
      const Value offset = entry.offset == 0 ? Value(Null()) : Value(entry.offset);
      file_.add("NVTX_PAYLOAD_SCHEMA_ENTRIES",
                {kNcclDomain, int64_t{entry.schema}, entry.index, entry.type, std::string_view(entry.name), offset});
    }
  }

  void add_rank(const SimulatedRank& rank) {
    rank_ = &rank;
    trace_ = &rank.file.linked.trace;
    process_ = kMachine | rank.process << 24;
    file_.add("PROCESSES", {process_, rank.process, std::string_view("python3")});
    file_.add("ThreadNames", {text("pt_autograd_0"), int64_t{20}, process_ | rank.backward_thread});
    add_communicators();
    numbers_ = number_calls(*trace_, 1000);
    for (size_t row = 0; row < trace_->gpu.size(); ++row) add_gpu_row(row);
    for (size_t launch = 0; launch < trace_->launches.size(); ++launch) add_launch(launch);
    add_other_calls();
    split_ = 0;
    for (size_t call = 0; call < trace_->calls.size(); ++call) add_call(call);
    for (const StepRange& step : trace_->steps)
      add_range(step.start, step.duration_ns, rank.main_thread, fmt::format("ProfilerStep#{}", step.number), "");
  }

  // Before anything else: whose ranks and numbers the job knows.
  void add_communicators() {
    LocalNs at{zero_ns_ + kBeforeNs / 2};
    for (const ProcessGroup& config : rank_->file.evidence.distributed.groups) {
      const std::vector<int64_t> members = config.ranks.ranks();
      const auto own = std::find(members.begin(), members.end(), rank_->rank);
      for (const GroupMention& group : rank_->file.linked.groups) {
        if (group.name != config.name || own == members.end()) continue;
        const std::string data = payload(kCommInit, communicator_of(group), {},
                                         {{8, static_cast<int32_t>(members.size())},
                                          {12, static_cast<int32_t>(own - members.begin())},
                                          {16, rank_->file.linked.trace.device}});
        add_nccl_range(at, 1000, rank_->main_thread, "ncclCommInitRank", data);
        at = at + 2000;
      }
    }
  }

  void add_gpu_row(size_t row) {
    const GpuEvents& gpu = trace_->gpu;
    const int32_t launch = gpu.launch[row];
    const int64_t start = stamp(gpu.start[row]), end = start + gpu.duration_ns[row];
    const int64_t device = gpu.device[row], stream = gpu.stream[row];
    const Value id = launch < 0 ? Value(Null()) : Value(numbers_.launches[static_cast<size_t>(launch)]);
    const std::string_view name = rank_->file.linked.strings.view(gpu.name[row]);
    if (gpu.work[row] == GpuWork::memcpy) {
      const int64_t kind = name.find("DtoH") != std::string_view::npos ? 2 : 1;
      const int64_t host = name.find("Pinned") != std::string_view::npos ? 1 : 0;
      file_.add("CUPTI_ACTIVITY_KIND_MEMCPY", {start, end, device, int64_t{1}, stream, id, process_, int64_t{4096},
                                               kind, kind == 1 ? host : int64_t{2}, kind == 1 ? int64_t{2} : host});
    } else if (gpu.work[row] == GpuWork::memset) {
      file_.add("CUPTI_ACTIVITY_KIND_MEMSET",
                {start, end, device, int64_t{1}, stream, id, process_, int64_t{0}, int64_t{4096}, int64_t{2}});
    } else {
      const int64_t blocks = rank_->blocks[row];
      const Value x = blocks > 0 ? Value(blocks) : Value(Null()), one = blocks > 0 ? Value(int64_t{1}) : Value(Null());
      file_.add("CUPTI_ACTIVITY_KIND_KERNEL",
                {start, end, device, int64_t{1}, stream, id, process_, text(name), text(name), x, one, one, Null()});
    }
  }

  void add_runtime(LocalNs start, int64_t duration_ns, int64_t thread, int64_t id, const char* name) {
    file_.add("CUPTI_ACTIVITY_KIND_RUNTIME",
              {stamp(start), stamp(start) + duration_ns, int64_t{0}, process_ | thread, id, text(name), int64_t{0}});
  }

  void add_launch(size_t row) {
    const LaunchEvents& launches = trace_->launches;
    add_runtime(launches.start[row], launches.duration_ns[row], launches.thread[row], numbers_.launches[row],
                name_of_launch(row));
  }

  // By the first row that it launched.
  const char* name_of_launch(size_t launch) {
    if (works_of_.size() != trace_->launches.size() || works_rank_ != rank_) {
      works_of_.assign(trace_->launches.size(), GpuWork::compute);
      works_rank_ = rank_;
      for (size_t row = 0; row < trace_->gpu.size(); ++row) {
        if (trace_->gpu.launch[row] >= 0)
          works_of_[static_cast<size_t>(trace_->gpu.launch[row])] = trace_->gpu.work[row];
      }
    }
    switch (works_of_[launch]) {
      case GpuWork::memcpy:
        return "cudaMemcpyAsync_v3020";
      case GpuWork::memset:
        return "cudaMemsetAsync_v3020";
      case GpuWork::compute:
      case GpuWork::communication:
        break;
    }
    return "cudaLaunchKernel_v7000";
  }

  void add_other_calls() {
    for (const LostLaunch& lost : rank_->lost_launches) {
      add_runtime(lost.at, 5000, rank_->main_thread, numbers_.next++, "cudaLaunchKernel_v7000");
      if (lost.by_collective) add_nccl_range(lost.at, 5001, rank_->main_thread, "ncclAllReduce", "");
    }
    for (const SynchronizingCall& call : trace_->synchronizing)
      add_runtime(call.start, call.duration_ns, rank_->main_thread, numbers_.next++, "cudaDeviceSynchronize_v3020");
    const int64_t device = trace_->device;
    for (size_t i = 0; i < trace_->stream_waits.size(); ++i) {
      const StreamWait& wait = trace_->stream_waits[i];
      const int64_t event = next_event_++, stream = wait.stream, source = wait.source;
      file_.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                {stamp(wait.recorded), device, int64_t{1}, source, numbers_.records[i], process_, event % 64, event});
      file_.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                {stamp(wait.start), stamp(wait.start) + 500, device, int64_t{1}, stream, numbers_.waits[i], process_,
                 kStreamWaitsForEvent, event % 64, event});
    }
  }

  void add_range(LocalNs start, int64_t duration_ns, int64_t thread, const std::string& name, const std::string& data) {
    const Value blob = data.empty() ? Value(Null()) : Value(SqliteFile::Bytes{data});
    file_.add("NVTX_EVENTS", {stamp(start), stamp(start) + duration_ns, kPushPopRange, std::string_view(name),
                              process_ | thread, Null(), int64_t{0}, Null(), blob});
  }

  // NCCL registers its names.
  void add_nccl_range(LocalNs start, int64_t duration_ns, int64_t thread, const char* name, const std::string& data) {
    const Value blob = data.empty() ? Value(Null()) : Value(SqliteFile::Bytes{data});
    file_.add("NVTX_EVENTS", {stamp(start), stamp(start) + duration_ns, kPushPopRange, Null(), process_ | thread,
                              text(name), kNcclDomain, Null(), blob});
  }

  void add_call(size_t row) {
    const CollectiveCall& call = trace_->calls[row];
    const OpenCall& open = rank_->file.linked.open_calls[row];
    const int32_t launch = trace_->gpu.launch[static_cast<size_t>(call.gpu_row)];
    if (launch < 0 || open.group < 0) return;
    const auto at = static_cast<size_t>(launch);
    const LocalNs start = trace_->launches.start[at];
    const int64_t duration_ns = trace_->launches.duration_ns[at] + 1, thread = trace_->launches.thread[at];
    const GroupMention& group = rank_->file.linked.groups[static_cast<size_t>(open.group)];
    const uint64_t communicator = communicator_of(group);
    const int64_t element = element_bytes(call.dtype);
    if (call.module >= 0) {
      const std::string& module = rank_->file.linked.modules[static_cast<size_t>(call.module)];
      add_range(start + -100, duration_ns + 200, thread, "FSDP::call (" + module + ")", "");
    }
    if (call.kind == CollectiveKind::all_to_all) return add_messages(row, communicator, start, duration_ns, thread);
    const bool part_goes_in = call.kind != CollectiveKind::reduce_scatter;
    const auto bytes = static_cast<uint64_t>((part_goes_in ? call.in_elements : call.out_elements) * element);
    const bool message = is_point_to_point(call.kind);
    const std::string data =
        message                                   ? payload(kSendRecv, communicator,
                                                            {{8, static_cast<uint64_t>(std::max(call.in_elements, call.out_elements) * element)}},
                                                            {{16, static_cast<int32_t>(open.peer_in_group)}})
        : call.kind == CollectiveKind::all_gather ? payload(kAllGather, communicator, {{8, bytes}}, {})
                                                  : payload(kAllReduce, communicator, {{8, bytes}}, {{16, 0}});
    add_nccl_range(start, duration_ns, thread, nccl_name(call.kind), data);
  }

  // An all-to-all: a group of sends and receives, one to and from each member.
  void add_messages(size_t row, uint64_t communicator, LocalNs start, int64_t duration_ns, int64_t thread) {
    const CollectiveCall& call = trace_->calls[row];
    const int64_t element = element_bytes(call.dtype);
    while (split_ < trace_->splits.size() && trace_->splits[split_].call < static_cast<int32_t>(row)) ++split_;
    std::vector<SplitPart> parts;
    for (size_t i = split_; i < trace_->splits.size() && trace_->splits[i].call == static_cast<int32_t>(row); ++i)
      parts.push_back(trace_->splits[i]);
    const auto ahead = static_cast<int64_t>(2 * parts.size()) + 2;
    LocalNs at = start + -ahead;
    add_nccl_range(at, 1, thread, "ncclGroupStart", "");
    for (size_t peer = 0; peer < parts.size(); ++peer) {
      const std::pair<int64_t, int32_t> to{16, static_cast<int32_t>(peer)};
      const auto size = [&](int64_t elements) { return static_cast<uint64_t>(elements * element); };
      at = at + 1;
      add_nccl_range(at, 0, thread, "ncclSend", payload(kSendRecv, communicator, {{8, size(parts[peer].sends)}}, {to}));
      at = at + 1;
      add_nccl_range(at, 0, thread, "ncclRecv",
                     payload(kSendRecv, communicator, {{8, size(parts[peer].receives)}}, {to}));
    }
    add_nccl_range(start + -1, duration_ns + 1, thread, "ncclGroupEnd", "");
  }

  SqliteFile file_;
  std::map<std::string, int64_t, std::less<>> texts_;
  int64_t zero_ns_ = 0, next_event_ = 1;
  const SimulatedRank* rank_ = nullptr;  // that is being written
  const RankTrace* trace_ = nullptr;
  int64_t process_ = 0;
  CallNumbers numbers_;
  const SimulatedRank* works_rank_ = nullptr;
  std::vector<GpuWork> works_of_;  // by launch
  size_t split_ = 0;
};

}  // namespace

bool write_nsys_file(const std::vector<SimulatedRank>& ranks, const std::string& path) {
  return NsysFile(path).write(ranks);
}

std::string nsys_part(const SimulatedRank& rank) { return fmt::format("pid{}", rank.process); }

}  // namespace skewscope::simulate
