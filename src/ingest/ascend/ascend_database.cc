// Tables by name, columns by name: versions differ in both, and a viewer (MindStudio Insight) adds some of its own to a
// file that it opens. `waitNs`, which it adds, is the gap before a row and no waiting in it: it is not read.
// What computes is what COMPUTE_TASK_INFO knows: other tasks are frames around it, signals and waits of streams.
#include "ascend_database.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "communication_tasks.h"
#include "hccl_calls.h"
#include "hccl_name.h"
#include "rank_folder.h"
#include "src/ingest/content/defects.h"
#include "src/ingest/content/row_names.h"

namespace skewscope::ingest {
namespace {

constexpr const char* kDatabaseFormat = "ascend sqlite";
constexpr int64_t kLargestDevice = 1023;
constexpr int kThreadBits = 32;  // of globalTid, below the process

bool is_of_ascend(const Database& database) {
  return database.has_table("STRING_IDS") && database.has_table("TASK") &&
         (database.has_table("COMMUNICATION_OP") || database.has_table("CANN_API"));
}

int64_t first_integer(const Database& database, const char* table, const char* column) {
  if (!database.has_column(table, column)) return -1;
  Statement row = database.select("SELECT " + std::string(column) + " FROM " + table + " LIMIT 1");
  return row.next() && row.is_integer(0) ? row.integer(0) : -1;
}

// What says which rank it is.
void read_rank_of(const Database& database, FileContent& content) {
  content.file = database.file();
  content.format = kDatabaseFormat;
  read_rank_folder(rank_folder_of(database.file()), content);
  DistributedInfo& distributed = content.distributed;
  static const std::regex kName(R"(_profiler_(\d{1,6})\.db)");
  const std::string name = std::filesystem::path(database.file()).filename().string();
  if (std::smatch hit; std::regex_search(name, hit, kName)) distributed.rank = std::stoll(hit[1].str());
  const int64_t told = first_integer(database, "RANK_DEVICE_MAP", "rankId");
  if (told >= 0) distributed.rank = told;
  if (database.has_column("META_DATA", "value")) {
    Statement row = database.select("SELECT value FROM META_DATA WHERE name = 'parallel_group_info'");
    if (row.next()) add_parallel_groups(row.text(0), content);
  }
  distributed.present = distributed.rank >= 0 || !distributed.groups.empty();
  if (database.has_column("HOST_INFO", "hostName")) {
    Statement row = database.select("SELECT hostName FROM HOST_INFO LIMIT 1");
    if (row.next() && !row.text(0).empty()) content.host_name = row.text(0);
  }
}

class DatabaseReading {
 public:
  DatabaseReading(const Database& database, const ReaderSettings& settings, MemoryBudget& budget)
      : database_(database), budget_(budget), rows_(database.file(), "", settings, budget), calls_(rows_) {}
  ~DatabaseReading() { budget_.give_back(taken_); }
  DatabaseReading(const DatabaseReading&) = delete;
  DatabaseReading& operator=(const DatabaseReading&) = delete;
  DatabaseReading(DatabaseReading&&) = delete;
  DatabaseReading& operator=(DatabaseReading&&) = delete;

  Result<FileContent> read() {
    FileContent& content = rows_.content();
    read_rank_of(database_, content);
    read_devices();
    tasks_.read(database_);
    charge();
    read_tasks();
    charge();
    read_calls();
    read_launches();
    read_steps();
    read_operators();
    charge();
    if (rows_.over_budget() || over_budget_) return rows_.error();
    content.findings = defects_.to_findings(database_.file());
    const bool empty = content.events == 0;
    return rows_.take(empty ? ContentKind::empty : ContentKind::rank_trace);
  }

 private:
  void read_devices() {
    FileContent& content = rows_.content();
    if (database_.has_column("NPU_INFO", "name")) {
      Statement row = database_.select("SELECT id, name FROM NPU_INFO");
      while (row.next()) {
        const int64_t id = row.is_integer(0) ? row.integer(0) : -1;
        if (id < 0 || id > kLargestDevice) continue;
        if (content.devices.size() <= static_cast<size_t>(id)) content.devices.resize(static_cast<size_t>(id) + 1);
        content.devices[static_cast<size_t>(id)].name = row.text(1);
      }
    }
    const int64_t own = first_integer(database_, "RANK_DEVICE_MAP", "deviceId");
    if (own >= 0 && own <= kLargestDevice) device_ = static_cast<int16_t>(own);
    calls_.set_device(device_);
  }

  // A column, or NULL where this version has none.
  std::string column(const char* table, const char* name) const {
    return database_.has_column(table, name) ? name : "NULL";
  }

  StringId text_of(int64_t id) {
    const auto [known, added] = texts_.try_emplace(id);
    if (added) {
      Statement row = database_.select("SELECT value FROM STRING_IDS WHERE id = " + std::to_string(id));
      known->second = rows_.intern(row.next() ? row.text(0) : std::string_view());
    }
    return known->second;
  }
  // Until the next text is asked for.
  std::string_view view_of(int64_t id) { return rows_.content().strings.view(text_of(id)); }

  // Two stamps in nanoseconds, which old versions keep as text. False: none that a row can have.
  bool read_span(const Statement& row, int start, int end, LocalNs& begin, int64_t& duration_ns) {
    begin.ns = row.integer(start);
    const int64_t end_ns = row.integer(end);
    if (row.is_null(start) || row.is_null(end) || begin.ns <= 0 || begin.ns > kFurthestNs || end_ns > kFurthestNs) {
      defects_.add(Defect::dropped_event, -1);
      return false;
    }
    duration_ns = end_ns - begin.ns;
    if (duration_ns < 0) {
      defects_.add(Defect::negative_duration, -1);
      duration_ns = 0;
    }
    ++rows_.content().events;
    return true;
  }

  void report_damage(const Statement& rows) {
    if (rows.damaged()) defects_.add(Defect::partly_read_event, -1);
  }

  void read_tasks() {
    const bool named = database_.has_table("COMPUTE_TASK_INFO");
    const std::string name = named ? "c.name" : "NULL";
    const std::string join = named ? " LEFT JOIN COMPUTE_TASK_INFO c ON c.globalTaskId = t.globalTaskId" : "";
    Statement rows =
        database_.select("SELECT t.startNs, t.endNs, t.connectionId, t.streamId, t.deviceId, t.taskType, " + name +
                         ", t.globalTaskId, t.globalPid FROM TASK t" + join);
    while (rows.next() && !rows_.over_budget()) {
      GpuRow row;
      if (!read_span(rows, 0, 1, row.start, row.duration_ns)) continue;
      if (tasks_.add(rows.integer(7), row.start.ns, row.start.ns + row.duration_ns)) continue;
      const std::string_view type = view_of(rows.integer(5));
      const bool copies = type.starts_with("MEMCPY"), kernel = type.starts_with("KERNEL") || type.starts_with("MIX_");
      if (rows.is_null(6) ? !copies && (named || !kernel) : false) continue;
      row.name = text_of(rows.is_null(6) ? rows.integer(5) : rows.integer(6));
      row.work = copies ? GpuWork::memcpy : GpuWork::compute;
      row.correlation = connection(rows, 2);
      row.stream = static_cast<int32_t>(std::clamp<int64_t>(rows.integer(3), -1, INT32_MAX));
      const int64_t device = rows.integer(4);
      row.device = device >= 0 && device <= kLargestDevice ? static_cast<int16_t>(device) : device_;
      if (rows_.content().process_id < 0 && rows.integer(8) > 0) rows_.content().process_id = rows.integer(8);
      rows_.add(row);
    }
    report_damage(rows);
  }

  int64_t connection(const Statement& rows, int column) {
    const int64_t id = rows.is_integer(column) ? rows.integer(column) : -1;
    if (id < 0 || id >= INT64_MAX / 2) return -1;
    connections_.push_back(id);
    return id;
  }

  void read_calls() {
    if (!database_.has_table("COMMUNICATION_OP")) return;
    const auto own = [&](const char* name) { return column("COMMUNICATION_OP", name); };
    Statement rows =
        database_.select("SELECT startNs, endNs, " + own("connectionId") + ", opName, groupName, " + own("dataType") +
                         ", " + own("count") + ", " + own("opId") + " FROM COMMUNICATION_OP");
    while (rows.next() && !rows_.over_budget()) {
      HcclCall call;
      if (!read_span(rows, 0, 1, call.start, call.duration_ns)) continue;
      const std::string name(view_of(rows.integer(3))), type = type_name(rows.integer(5));
      const std::string group = hash_of(rows.integer(4));
      call.name = name;
      call.group = group;
      call.dtype = type;
      call.correlation = connection(rows, 2);
      if (!rows.is_null(6)) call.elements = rows.integer(6);
      call.group_size = tasks_.size_of_group(rows.integer(4));
      if (!rows.is_null(7)) call.peer = tasks_.peer_of(rows.integer(7));
      if (!rows.is_null(7)) call.wait_ns = std::min(tasks_.wait_of(rows.integer(7)), call.duration_ns);
      calls_.add(call);
    }
    report_damage(rows);
  }

  // Text where the group is called by its hash already.
  std::string hash_of(int64_t group_name) {
    const std::string name(view_of(group_name));
    if (name.empty() || name == "N/A") return "";
    const bool hashed =
        name.size() > 15 && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    return hashed ? name : hash_of_group(name);
  }

  std::string type_name(int64_t id) {
    if (!database_.has_column("ENUM_HCCL_DATA_TYPE", "name")) return "";
    const auto [known, added] = types_.try_emplace(id);
    if (added) {
      Statement row = database_.select("SELECT name FROM ENUM_HCCL_DATA_TYPE WHERE id = " + std::to_string(id));
      if (row.next()) known->second = row.text(0);
    }
    return known->second;
  }

  // What launched the rows that are there, and what waited for the device.
  void read_launches() {
    if (!database_.has_table("CANN_API")) return;
    std::sort(connections_.begin(), connections_.end());
    Statement rows = database_.select("SELECT startNs, endNs, connectionId, globalTid, name FROM CANN_API");
    while (rows.next() && !rows_.over_budget()) {
      LaunchRow row;
      const int64_t id = rows.is_integer(2) ? rows.integer(2) : -1;
      const bool launches = id >= 0 && std::binary_search(connections_.begin(), connections_.end(), id);
      const std::string_view name = view_of(rows.integer(4));
      const bool waits = name.starts_with("aclrtSynchronize");
      if ((!launches && !waits) || !read_span(rows, 0, 1, row.start, row.duration_ns)) continue;
      row.thread = rows.integer(3);
      if (waits) {
        const bool of_device = name.starts_with("aclrtSynchronizeDevice");
        rows_.content().syncs.push_back({row.start, row.duration_ns, false, of_device, row.thread});
        continue;
      }
      row.correlation = id;
      rows_.add(row);
    }
    report_damage(rows);
  }

  void read_steps() {
    if (!database_.has_table("STEP_TIME")) return;
    Statement rows = database_.select("SELECT startNs, endNs, id FROM STEP_TIME");
    while (rows.next()) {
      StepRow step;
      if (!read_span(rows, 0, 1, step.start, step.duration_ns)) continue;
      step.number = std::max<int64_t>(rows.integer(2), 0);
      rows_.content().steps.push_back(step);
    }
    report_damage(rows);
  }

  // The host's rows, for the tables of one GPU.
  void read_operators() {
    if (!database_.has_table("PYTORCH_API")) return;
    FileContent& content = rows_.content();
    content.has_cpu_ops = true;
    if (!content.details) return;
    Statement rows = database_.select("SELECT startNs, endNs, globalTid, name, " + column("PYTORCH_API", "type") +
                                      " FROM PYTORCH_API");
    while (rows.next() && !over_budget_) {
      LocalNs start;
      int64_t duration_ns = 0;
      const int64_t type = rows.integer(4);
      if (type == kQueue || !read_span(rows, 0, 1, start, duration_ns)) continue;
      add_operator(start, duration_ns, rows.integer(2), text_of(rows.integer(3)),
                   type == kTrace  ? HostKind::python
                   : type == kMark ? HostKind::annotation
                                   : HostKind::op);
      if (content.details->host.size() % kBatch == 0) charge();
    }
    report_damage(rows);
  }

  void add_operator(LocalNs start, int64_t duration_ns, int64_t global_thread, StringId name, HostKind kind) {
    DetailRows& details = *rows_.content().details;
    HostEvents& host = details.host;
    const ThreadIds thread = {global_thread >> kThreadBits, global_thread & ((int64_t{1} << kThreadBits) - 1)};
    host.start.push_back(start);
    host.duration_ns.push_back(duration_ns);
    host.name.push_back(name);
    host.kind.push_back(kind);
    host.thread.push_back(details.threads.number_of(thread));
    host.place.push_back(static_cast<int32_t>(host.size()));
    host.arguments.push_back(-1);
    host.sequence.push_back(-1);
    host.forward_thread.push_back(0);
  }

  // What is needed while the file is read only.
  void charge() {
    const auto now = tasks_.bytes() + static_cast<int64_t>(connections_.capacity() * sizeof(int64_t));
    if (!budget_.take(now - taken_)) over_budget_ = true;
    taken_ = now;
  }

  static constexpr int64_t kQueue = 50002, kTrace = 50003, kMark = 50004;  // ENUM_API_TYPE
  static constexpr size_t kBatch = 1 << 16;

  const Database& database_;
  MemoryBudget& budget_;
  RowCollector rows_;
  HcclCalls calls_;
  CommunicationTasks tasks_;
  DefectCounts defects_;
  std::unordered_map<int64_t, StringId> texts_;
  std::unordered_map<int64_t, std::string> types_;
  std::vector<int64_t> connections_;  // of the rows that are there
  int64_t taken_ = 0;
  int16_t device_ = 0;
  bool over_budget_ = false;
};

class AscendDatabase : public SqliteFormat {
 public:
  bool is_of(const Database& database) const override { return is_of_ascend(database); }
  Result<std::vector<FileContent>> read(const Database& database, const ReaderSettings& settings,
                                        MemoryBudget& budget) const override {
    Result<FileContent> content = DatabaseReading(database, settings, budget).read();
    if (!content.ok()) return content.error();
    return only(std::move(content.value()));
  }
  std::vector<FileContent> read_heads(const Database& database) const override {
    FileContent content;
    read_rank_of(database, content);
    return only(std::move(content));
  }
  const char* format() const override { return kDatabaseFormat; }
};

}  // namespace

std::unique_ptr<SqliteFormat> make_ascend_database() { return std::make_unique<AscendDatabase>(); }

}  // namespace skewscope::ingest
