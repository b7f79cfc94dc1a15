#include "rocpd_file.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "rocm_rows.h"
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
class RocpdFile : public RocmRows {
 public:
  RocpdFile(const std::string& path, const SimulatedRank& rank)
      : file_(path, kRocpdTables), rank_(rank), trace_(rank.file.linked.trace) {}

  bool write() {
    add_process();
    walk_rocm_rows(rank_, *this);
    return file_.close();
  }

  void add(const RocmOperation& operation) override {
    const Value event = event_of(operation.launch);
    if (operation.is_copy) {
      file_.add("rocpd_memory_copy_00000e75",
                {++copies_, kGuid, int64_t{1}, int64_t{1}, int64_t{1}, operation.start_ns, operation.end_ns,
                 text(operation.name), operation.to_host ? kHostAgent : kGpuAgent,
                 operation.to_host ? kGpuAgent : kHostAgent, kRocmCopyBytes, Null(), operation.stream, event});
      return;
    }
    const int64_t number = ++dispatches_;
    file_.add("rocpd_kernel_dispatch_00000e75",
              {number, kGuid, int64_t{1}, int64_t{1}, int64_t{1}, kGpuAgent, kernel(operation.name), number, int64_t{1},
               operation.stream, operation.start_ns, operation.end_ns, kRocmThreads, int64_t{1}, int64_t{1},
               operation.blocks * kRocmThreads, int64_t{1}, int64_t{1}, event});
  }

  void add(const RocmCall& call) override {
    const Value event = event_of(call.number);
    file_.add("rocpd_region_00000e75", {++regions_, kGuid, int64_t{1}, int64_t{1}, call.thread, call.start_ns,
                                        call.end_ns, text(call.name), event});
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

  SqliteFile file_;
  const SimulatedRank& rank_;
  const RankTrace& trace_;
  std::map<std::string, int64_t, std::less<>> texts_, kernels_;
  int64_t events_ = 0, regions_ = 0, dispatches_ = 0, copies_ = 0;
};

}  // namespace

bool write_rocpd_file(const std::vector<SimulatedRank>& ranks, const std::string& path) {
  return RocpdFile(path, ranks.front()).write();
}

std::string rocpd_file_name(const TraceFile& rank, int64_t process) {
  return fmt::format("{}-{}_results.db", rank.evidence.host, process);
}

}  // namespace skewscope::simulate
