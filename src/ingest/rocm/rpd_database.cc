// Source: the tables of rocmProfileData's RPD. An operation of a GPU names its queue, and the calls of the host that
// made it: one call may make several (a graph), and ids of rows tell calls and operations apart, not their time.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "rccl_calls.h"
#include "rocm_parts.h"
#include "rocpd_database.h"
#include "src/ingest/content/defects.h"
#include "src/ingest/content/row_names.h"

namespace skewscope::ingest {
namespace {

constexpr const char* kRpdFormat = "rpd sqlite";

class RpdReading {
 public:
  RpdReading(const Database& database, RocmParts& parts, DefectCounts& defects)
      : database_(database), parts_(parts), defects_(defects) {}

  void read() {
    read_links();
    read_operations();
    read_calls();
  }
  int64_t events() const { return events_; }

 private:
  // Operations to the calls that made them, and these to their processes.
  void read_links() {
    if (!database_.has_table("rocpd_api_ops") || !database_.has_table("rocpd_api")) return;
    Statement rows = database_.select(
        "SELECT l.op_id, l.api_id, a.pid FROM rocpd_api_ops l CROSS JOIN rocpd_api a ON "
        "a.id = l.api_id");
    while (rows.next()) {
      const int64_t call = rows.integer(1);
      makers_[rows.integer(0)] = {call, rows.integer(2)};
    }
    report_damage(rows);
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

  void read_operations() {
    Statement rows = database_.select(
        "SELECT start, \"end\", gpuId, queueId, id, (SELECT string FROM rocpd_string WHERE id = description_id), "
        "(SELECT string FROM rocpd_string WHERE id = opType_id) FROM rocpd_op");
    while (rows.next() && !parts_.over_budget()) {
      GpuRow row;
      if (!read_stamps(rows, row.start, row.duration_ns)) continue;
      const std::string_view type = rows.text(6), description = rows.text(5);
      if (type.starts_with("Barrier")) continue;  // of queues: no work
      const auto gpu = static_cast<int32_t>(std::clamp<int64_t>(rows.integer(2), 0, kMostGpus - 1));
      const auto maker = makers_.find(rows.integer(4));
      const int64_t process = maker == makers_.end() ? -1 : maker->second.process;
      RowCollector& part = parts_.part(process, gpu);
      if (process >= 0) parts_.set_process(process, {process, "", -1, -1});
      row.name = part.intern(description.empty() ? type : description);
      row.device = static_cast<int16_t>(gpu);
      row.stream = static_cast<int32_t>(std::clamp<int64_t>(rows.integer(3), -1, INT32_MAX));
      if (maker != makers_.end()) row.correlation = maker->second.call;
      if (type.starts_with("Copy")) row.work = GpuWork::memcpy;
      if (type.starts_with("Fill")) row.work = GpuWork::memset;
      part.add(row);
    }
    report_damage(rows);
  }

  void read_calls() {
    if (!database_.has_table("rocpd_api")) return;
    std::unordered_map<int64_t, bool> makes;
    for (const auto& [operation, maker] : makers_) makes[maker.call] = true;
    Statement rows = database_.select(
        "SELECT start, \"end\", pid, tid, id, (SELECT string FROM rocpd_string WHERE id = apiName_id), (SELECT string "
        "FROM rocpd_string WHERE id = args_id) FROM rocpd_api");
    while (rows.next() && !parts_.over_budget()) {
      LocalNs start;
      int64_t duration_ns = 0;
      if (!read_stamps(rows, start, duration_ns)) continue;
      const std::string_view name = rows.text(5), said = name == "UserMarker" ? rows.text(6) : name;
      const int64_t process = rows.integer(2), thread = rows.integer(3);
      const std::string_view collective = collective_of_rccl(name);
      const int64_t step = profiler_step(said);
      parts_.of_process(process, [&](RowCollector& part) {
        if (!collective.empty()) add_rccl_call(collective, start, duration_ns, thread, part);
        if (step >= 0) part.content().steps.push_back({start, duration_ns, step, thread});
        if (synchronizes(name)) {
          part.content().syncs.push_back({start, duration_ns, false, waits_for_device(name), thread});
        }
      });
      LaunchRow row;
      row.role = role_of_launch(name);
      // A kernel may be lost, and its launch tells of it.
      const bool made = makes.contains(rows.integer(4));
      if (!made && (makes.empty() || row.role != LaunchRole::kernel)) continue;
      row.start = start;
      row.duration_ns = duration_ns;
      row.correlation = rows.integer(4);
      row.thread = thread;
      parts_.add_of_host(process, row);
    }
    report_damage(rows);
  }

  void report_damage(const Statement& rows) {
    if (rows.damaged()) defects_.add(Defect::partly_read_event, -1);
  }

  struct Maker {
    int64_t call = -1, process = -1;
  };
  const Database& database_;
  RocmParts& parts_;
  DefectCounts& defects_;
  int64_t events_ = 0;
  std::unordered_map<int64_t, Maker> makers_;  // by operation
};

class RpdDatabase : public SqliteFormat {
 public:
  bool is_of(const Database& database) const override {
    return database.has_table("rocpd_op") && database.has_table("rocpd_string");
  }
  Result<std::vector<FileContent>> read(const Database& database, const ReaderSettings& settings,
                                        MemoryBudget& budget) const override {
    RocmParts parts(database.file(), settings, budget);
    DefectCounts defects;
    RpdReading reading(database, parts, defects);
    reading.read();
    if (parts.over_budget()) return parts.error();
    return parts.take(kRpdFormat, reading.events(), defects.to_findings(database.file()));
  }
  const char* format() const override { return kRpdFormat; }
};

}  // namespace

std::unique_ptr<SqliteFormat> make_rpd_database() { return std::make_unique<RpdDatabase>(); }

}  // namespace skewscope::ingest
