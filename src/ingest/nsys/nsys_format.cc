// The story: each table is read once, in an order in which processes are known before what belongs to them; then each
// process becomes a rank.
#include "nsys_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "gpu_tables.h"
#include "host_tables.h"
#include "nvtx_table.h"
#include "rank_words.h"
#include "reading_of.h"

namespace skewscope::ingest {
namespace {

class NsysFormat : public SqliteFormat {
 public:
  const char* format() const override { return "nsight systems sqlite"; }
  bool is_of(const Database& database) const override;
  Result<std::vector<FileContent>> read(const Database& database, const ReaderSettings& settings,
                                        MemoryBudget& budget) const override;
  std::vector<FileContent> read_heads(const Database& database) const override;
};

bool NsysFormat::is_of(const Database& database) const {
  const std::vector<std::string>& tables = database.tables();
  const bool of_cupti = std::any_of(tables.begin(), tables.end(),
                                    [](const std::string& table) { return table.starts_with("CUPTI_ACTIVITY_KIND_"); });
  return of_cupti || database.has_table("NVTX_EVENTS") || database.has_table("ENUM_NSYS_EVENT_TYPE");
}

void report_defects(const RowDefects& defects, const Session& session, FileContent& content) {
  report(content, Severity::error, "unreadable-file", defects.damaged ? 1 : 0,
         fmt::format("table {} is damaged; what comes before the damage was read", defects.damaged_table));
  report(content, Severity::warning, "dropped-event", defects.without_time,
         "rows have no time, or one that no clock can show; they were left out");
  report(content, Severity::warning, "open-event", defects.open, "ranges have no end; they were left out");
  report(content, Severity::info, "unknown-version", session.unknown_version.empty() ? 0 : 1,
         fmt::format("version {} of the export is not known; what was recognized in it was read",
                     session.unknown_version));
}

void set_session(const Session& session, int64_t key, FileContent& content) {
  content.has_base_time = session.has_base;
  content.base_time_ns = session.base_ns;
  content.process_id = process_number(key);
  content.devices = session.devices;
  const auto host = session.host_of_machine.find(machine_number(key));
  if (host != session.host_of_machine.end()) content.host_name = host->second;
}

// Nothing of a GPU in it.
FileContent without_rank(const Database& database, const Session& session, const RowDefects& defects) {
  FileContent content;
  content.file = database.file();
  content.kind = ContentKind::front_end;
  content.has_base_time = session.has_base;
  report_defects(defects, session, content);
  return content;
}

// A rank that made a context on another GPU first has higher numbers of streams than its peers. One stream of all ranks
// has one number where no trace names its communicator (matching's call groups).
void number_streams(int32_t shift, FileContent& content) {
  constexpr int32_t kFirstStream = 7;  // the default stream of a first context
  Column<int32_t>& streams = content.gpu.events.stream;
  const bool fits = std::all_of(streams.begin(), streams.end(), [&](int32_t s) { return s >= kFirstStream + shift; });
  if (shift == 0 || !fits) return;
  for (int32_t& stream : streams) stream -= shift;
  for (StreamWaitRow& wait : content.stream_waits) {
    if (wait.stream >= shift) wait.stream -= shift;
    if (wait.source >= shift) wait.source -= shift;
  }
}

FileContent take_rank(const ReadingOf& file, ProcessRows& process) {
  process.nccl.make_records(process.rows);
  set_session(file.session, process.key, process.rows.content());
  process.rows.content().events = process.events;
  process.rows.content().cuda_launches = true;
  process.rows.content().one_clock = true;
  FileContent content = process.rows.take(ContentKind::rank_trace);
  number_streams(process.stream_shift(), content);
  report(content, Severity::info, "named-by-word", process.nccl.tell_orphans(content),
         "kernels were launched before recording started; they count as the only operation that was called afterwards");
  report(content, Severity::warning, "graph-rows", process.graphs,
         "CUDA graphs are one row each and count as computing: collectives in them are not seen; record with "
         "--cuda-graph-trace=node");
  return content;
}

Result<std::vector<FileContent>> NsysFormat::read(const Database& database, const ReaderSettings& settings,
                                                  MemoryBudget& budget) const {
  RowDefects defects;
  ExportStrings texts(budget);
  if (!texts.read(database, defects)) return budget.exceeded_by(database.file());
  const Session session = read_session(database, defects);
  PayloadSchemas schemas;
  schemas.read(database, defects);
  ProcessTable processes(database.file(), texts, settings, budget);
  ReadingOf file{database, settings, session, texts, processes, defects};
  read_kernels(file);
  read_copies(file);
  read_fills(file);
  read_graphs(file);
  // From here on all processes that are ranks are known, but for those that only launch or call NCCL.
  read_calls(file);
  read_ranges(schemas, file);
  read_stream_waits(file);
  read_thread_names(file);
  if (processes.over_budget()) return budget.exceeded_by(database.file());
  if (processes.all().empty()) return only(without_rank(database, session, defects));
  tell_ranks(session, processes);
  std::vector<FileContent> ranks;
  std::vector<StepCandidates> steps;
  std::set<std::string> parts;
  for (auto& [key, process] : processes.all()) {
    ranks.push_back(take_rank(file, *process));
    // Processes of several machines may have one number.
    std::string& part = ranks.back().part;
    if (!parts.insert(part).second) part += fmt::format("-{}", machine_number(key));
    steps.push_back(std::move(process->steps));
    process.reset();
  }
  choose_steps(steps, settings.step_range, ranks);
  report_defects(defects, session, ranks.front());
  return ranks;
}

// What the kernels say of processes and devices, names of threads, and who is who in the communicators.
std::vector<FileContent> NsysFormat::read_heads(const Database& database) const {
  std::vector<FileContent> heads;
  if (!database.has_column("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid")) return heads;
  RowDefects defects;
  MemoryBudget unlimited(0);
  ExportStrings texts(unlimited);
  const ReaderSettings settings;
  texts.read(database, defects);
  const Session session = read_session(database, defects);
  ProcessTable processes(database.file(), texts, settings, unlimited);
  Statement used = database.select("SELECT DISTINCT globalPid, deviceId FROM CUPTI_ACTIVITY_KIND_KERNEL");
  while (used.next()) {
    if (ProcessRows* process = processes.find_or_add(used.integer(0))) ++process->rows_of_device[used.integer(1)];
  }
  ReadingOf file{database, settings, session, texts, processes, defects};
  read_thread_names(file);
  PayloadSchemas schemas;
  schemas.read(database, defects);
  read_communicators(schemas, file);
  tell_ranks(session, processes);
  for (const auto& [key, process] : processes.all()) {
    set_session(session, key, process->rows.content());
    heads.push_back(process->rows.take(ContentKind::rank_trace));
  }
  return heads;
}

}  // namespace

bool ReadingOf::read_times(const Statement& row, LocalNs& start, int64_t& duration_ns) const {
  const int64_t begin = row.integer(0), end = row.is_null(1) ? begin : row.integer(1);
  const auto sane = [](int64_t ns) { return ns > -kFurthestNs / 2 && ns < kFurthestNs / 2; };
  if (!row.is_integer(0) || !sane(begin) || !sane(end) || begin + session.base_ns > kFurthestNs) {
    ++defects.without_time;
    return false;
  }
  start = LocalNs{begin + session.base_ns};
  duration_ns = end > begin ? end - begin : 0;
  return true;
}

std::unique_ptr<SqliteFormat> make_nsys_format() { return std::make_unique<NsysFormat>(); }

}  // namespace skewscope::ingest
