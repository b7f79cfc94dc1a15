// Source: the tables of ROCm's rocprofiler-sdk-rocpd, schema 3 and 4; no recorded file was at hand. Each table
// carries the id of its run behind its name, and a merged file has those of several runs: what belongs together is what
// ends alike. What launched a kernel is the call with the same stack id.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rccl_calls.h"
#include "rocm_parts.h"
#include "rocpd_database.h"
#include "src/ingest/content/defects.h"
#include "src/ingest/content/row_names.h"

namespace skewscope::ingest {
namespace {

constexpr const char* kRocpdFormat = "rocpd sqlite";
constexpr std::string_view kDispatches = "rocpd_kernel_dispatch";
constexpr int64_t kMostRuns = 4096;

// What is behind the name of the dispatches: one for each run in the file.
std::vector<std::string> runs_of(const Database& database) {
  std::vector<std::string> runs;
  for (const std::string& table : database.tables()) {
    if (table.starts_with(kDispatches) && std::ssize(runs) < kMostRuns)
      runs.push_back(table.substr(kDispatches.size()));
  }
  return runs;
}

// Reads the tables of one run.
class RunReading {
 public:
  RunReading(const Database& database, std::string run, int64_t number, RocmParts& parts, DefectCounts& defects)
      : database_(database), run_(std::move(run)), number_(number), parts_(parts), defects_(defects) {}

  int64_t events() const { return events_; }

  void read() {
    read_processes();
    read_gpus();
    read_kernels();
    read_dispatches();
    read_copies();
    read_regions();
  }
  void read_processes() {
    if (!has("rocpd_info_process")) return;
    const std::string environment = column("rocpd_info_process", "environment", "p.");
    Statement rows =
        database_.select("SELECT p.id, p.pid, " + environment + ", (SELECT hostname FROM " + table("rocpd_info_node") +
                         " n WHERE n.id = p.nid) FROM " + table("rocpd_info_process") + " p");
    while (rows.next()) {
      RocmProcess process = process_of_environment(rows.text(2));
      process.process = rows.is_integer(1) ? rows.integer(1) : -1;
      process.host = rows.text(3);
      parts_.set_process(key(rows.integer(0)), std::move(process));
    }
  }

 private:
  std::string table(std::string_view name) const { return sql_name(std::string(name) + run_); }
  bool has(std::string_view name) const { return database_.has_table(std::string(name) + run_); }
  std::string column(std::string_view name, std::string_view own, std::string_view prefix = "") const {
    return database_.has_column(std::string(name) + run_, own) ? std::string(prefix) + sql_name(own) : "NULL";
  }
  // Processes of several runs are several.
  int64_t key(int64_t process_row) const { return number_ * kRows + std::clamp<int64_t>(process_row, 0, kRows - 1); }

  void read_gpus() {
    if (!has("rocpd_info_agent")) return;
    Statement rows =
        database_.select("SELECT id, pid, type, type_index, product_name, name FROM " + table("rocpd_info_agent"));
    while (rows.next()) {
      if (rows.text(2) != "GPU") continue;
      const auto gpu = static_cast<int32_t>(std::clamp<int64_t>(rows.integer(3), 0, kMostGpus - 1));
      gpus_[rows.integer(0)] = gpu;
      parts_.set_gpu(key(rows.integer(1)), gpu, std::string(rows.text(4).empty() ? rows.text(5) : rows.text(4)));
    }
  }

  void read_kernels() {
    if (!has("rocpd_info_kernel_symbol")) return;
    Statement rows = database_.select("SELECT id, " + column("rocpd_info_kernel_symbol", "display_name") +
                                      ", kernel_name FROM " + table("rocpd_info_kernel_symbol"));
    while (rows.next()) kernels_[rows.integer(0)] = rows.text(1).empty() ? rows.text(2) : rows.text(1);
  }

  bool read_stamps(const Statement& rows, LocalNs& start, int64_t& duration_ns) {
    start.ns = rows.integer(0);
    const int64_t end_ns = rows.integer(1);
    if (!rows.is_integer(0) || !rows.is_integer(1) || start.ns < 0 || start.ns > kFurthestNs || end_ns > kFurthestNs) {
      defects_.add(Defect::dropped_event, -1);
      return false;
    }
    duration_ns = end_ns > start.ns ? end_ns - start.ns : 0;
    if (end_ns < start.ns) defects_.add(Defect::negative_duration, -1);
    ++events_;
    return true;
  }

  // Of the row's event; where events are not there, nothing ties a row to its launch.
  std::string stack(std::string_view of) const {
    if (!has("rocpd_event")) return "NULL";
    return "(SELECT stack_id FROM " + table("rocpd_event") + " e WHERE e.id = " + std::string(of) + ".event_id)";
  }

  int32_t gpu_of(int64_t agent) const {
    const auto gpu = gpus_.find(agent);
    return gpu == gpus_.end() ? 0 : gpu->second;
  }

  static int32_t stream_of(const Statement& rows, int column) {
    return static_cast<int32_t>(
        std::clamp<int64_t>(rows.is_integer(column) ? rows.integer(column) : -1, -1, INT32_MAX));
  }

  int64_t launched_by(const Statement& rows, int column) {
    const int64_t id = rows.is_integer(column) && rows.integer(column) > 0 ? rows.integer(column) : -1;
    if (id > 0 && id < INT64_MAX / 2) stacks_.push_back(id);
    return id < INT64_MAX / 2 ? id : -1;
  }

  void read_dispatches() {
    std::string size;
    for (const char* const of :
         {"grid_size_x", "grid_size_y", "grid_size_z", "workgroup_size_x", "workgroup_size_y", "workgroup_size_z"}) {
      size += ", " + column(kDispatches, of, "d.");
    }
    Statement rows = database_.select("SELECT d.start, d.\"end\", d.pid, d.agent_id, d.kernel_id, d.stream_id, " +
                                      stack("d") + size + " FROM " + table(kDispatches) + " d");
    while (rows.next() && !parts_.over_budget()) {
      GpuRow row;
      if (!read_stamps(rows, row.start, row.duration_ns)) continue;
      const int32_t gpu = gpu_of(rows.integer(3));
      RowCollector& part = parts_.part(key(rows.integer(2)), gpu);
      const auto kernel = kernels_.find(rows.integer(4));
      row.name = part.intern(kernel == kernels_.end() ? std::string_view("unnamed kernel") : kernel->second);
      row.device = static_cast<int16_t>(gpu);
      row.stream = stream_of(rows, 5);
      row.correlation = launched_by(rows, 6);
      row.grid = grids_.number_of({rows.integer(7), rows.integer(8), rows.integer(9)},
                                  {rows.integer(10), rows.integer(11), rows.integer(12)});
      part.add(row);
    }
    report_damage(rows);
  }

  // A copy between a host and a GPU is of the GPU's; the destination counts first.
  void read_copies() {
    if (!has("rocpd_memory_copy")) return;
    Statement rows =
        database_.select("SELECT m.start, m.\"end\", m.pid, m.dst_agent_id, m.src_agent_id, m.stream_id, " +
                         stack("m") + ", (SELECT string FROM " + table("rocpd_string") +
                         " s WHERE s.id = m.name_id), m.size FROM " + table("rocpd_memory_copy") + " m");
    while (rows.next() && !parts_.over_budget()) {
      GpuRow row;
      if (!read_stamps(rows, row.start, row.duration_ns)) continue;
      const bool to_gpu = gpus_.contains(rows.integer(3));
      const int32_t gpu = gpu_of(rows.integer(to_gpu ? 3 : 4));
      RowCollector& part = parts_.part(key(rows.integer(2)), gpu);
      row.name = part.intern(rows.text(7).empty() ? "copy" : rows.text(7));
      row.device = static_cast<int16_t>(gpu);
      row.stream = stream_of(rows, 5);
      row.correlation = launched_by(rows, 6);
      row.work = GpuWork::memcpy;
      GpuDetailRow detail;
      detail.bytes = rows.is_integer(8) && rows.integer(8) >= 0 ? rows.integer(8) : -1;
      part.add(row, detail);
    }
    report_damage(rows);
  }

  void read_regions() {
    if (!has("rocpd_region")) return;
    std::sort(stacks_.begin(), stacks_.end());
    Statement rows =
        database_.select("SELECT r.start, r.\"end\", r.pid, r.tid, " + stack("r") + ", (SELECT string FROM " +
                         table("rocpd_string") + " s WHERE s.id = r.name_id) FROM " + table("rocpd_region") + " r");
    while (rows.next() && !parts_.over_budget()) {
      LocalNs start;
      int64_t duration_ns = 0;
      if (!read_stamps(rows, start, duration_ns)) continue;
      add_region(rows, start, duration_ns);
    }
    report_damage(rows);
  }

  void add_region(const Statement& rows, LocalNs start, int64_t duration_ns) {
    const std::string_view name = rows.text(5);
    const int64_t process = key(rows.integer(2)), thread = rows.integer(3);
    const std::string_view collective = collective_of_rccl(name);
    if (!collective.empty()) {
      parts_.of_process(process,
                        [&](RowCollector& part) { add_rccl_call(collective, start, duration_ns, thread, part); });
      return;
    }
    if (const int64_t step = profiler_step(name); step >= 0) {
      parts_.of_process(process, [&](RowCollector& part) {
        part.content().steps.push_back({start, duration_ns, step, thread});
      });
      return;
    }
    if (synchronizes(name)) {
      parts_.of_process(process, [&](RowCollector& part) {
        part.content().syncs.push_back({start, duration_ns, false, waits_for_device(name), thread});
      });
      return;
    }
    const int64_t id = rows.is_integer(4) ? rows.integer(4) : -1;
    LaunchRow row;
    row.role = role_of_launch(name);
    // A kernel may be lost, and its launch tells of it.
    if (id <= 0 || (row.role != LaunchRole::kernel && !std::binary_search(stacks_.begin(), stacks_.end(), id))) return;
    row.start = start;
    row.duration_ns = duration_ns;
    row.correlation = id;
    row.thread = thread;
    parts_.add_of_host(process, row);
  }

  void report_damage(const Statement& rows) {
    if (rows.damaged()) defects_.add(Defect::partly_read_event, -1);
  }

  static constexpr int64_t kRows = int64_t{1} << 32;

  const Database& database_;
  std::string run_;
  int64_t number_ = 0;
  RocmParts& parts_;
  DefectCounts& defects_;
  int64_t events_ = 0;
  std::map<int64_t, int32_t> gpus_;  // by agent
  std::map<int64_t, std::string> kernels_;
  std::vector<int64_t> stacks_;  // of rows of GPUs
  DispatchGrids grids_;
};

class RocpdDatabase : public SqliteFormat {
 public:
  bool is_of(const Database& database) const override { return !runs_of(database).empty(); }
  Result<std::vector<FileContent>> read(const Database& database, const ReaderSettings& settings,
                                        MemoryBudget& budget) const override {
    RocmParts parts(database.file(), settings, budget);
    DefectCounts defects;
    int64_t number = 0, events = 0;
    for (const std::string& run : runs_of(database)) {
      RunReading reading(database, run, number++, parts, defects);
      reading.read();
      events += reading.events();
      if (parts.over_budget()) return parts.error();
    }
    return parts.take(kRocpdFormat, events, defects.to_findings(database.file()));
  }
  const char* format() const override { return kRocpdFormat; }
};

}  // namespace

std::unique_ptr<SqliteFormat> make_rocpd_database() { return std::make_unique<RocpdDatabase>(); }

}  // namespace skewscope::ingest
