#include "history.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>

#include "asked.h"
#include "src/gather/process/log.h"

namespace skewscope::gather {
namespace {

// A run's figures are its outcome's text; the columns are what is asked by.
constexpr const char* kHistoryTables = R"(
PRAGMA locking_mode=EXCLUSIVE;
PRAGMA journal_mode=WAL;
PRAGMA synchronous=NORMAL;
PRAGMA trusted_schema=OFF;
CREATE TABLE IF NOT EXISTS run (id INTEGER PRIMARY KEY, job TEXT NOT NULL, series TEXT NOT NULL,
  owner_uid INTEGER NOT NULL, created INTEGER NOT NULL, reported INTEGER NOT NULL, verdict TEXT NOT NULL,
  outcome TEXT NOT NULL, UNIQUE (job, created)) STRICT;
CREATE INDEX IF NOT EXISTS run_of_series ON run (series, created);
CREATE INDEX IF NOT EXISTS run_by_report ON run (reported);
CREATE TABLE IF NOT EXISTS node (run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, name TEXT NOT NULL,
  PRIMARY KEY (name, run)) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS node_of_run ON node (run);
CREATE TABLE IF NOT EXISTS cause (run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, node TEXT NOT NULL,
  part INTEGER NOT NULL, PRIMARY KEY (node, part, run)) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS cause_of_run ON cause (run);
CREATE TABLE IF NOT EXISTS delivery (job TEXT NOT NULL, created INTEGER NOT NULL, generation INTEGER NOT NULL,
  id TEXT NOT NULL, body TEXT NOT NULL, queued INTEGER NOT NULL, due INTEGER NOT NULL, tries INTEGER NOT NULL,
  PRIMARY KEY (job, created, generation)) STRICT;
CREATE INDEX IF NOT EXISTS delivery_due ON delivery (due) WHERE body<>'';
CREATE TABLE IF NOT EXISTS delivering (since INTEGER NOT NULL) STRICT;
)";
constexpr int kHistoryFormat = 1;
constexpr const char* kRunColumns = "job, owner_uid, created, reported, verdict, outcome";

bool runs_well(sqlite3* database, const char* sql) {
  return sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

// nullopt: its figures make no sense.
std::optional<Run> run_in(Cells cells) {
  Run run;
  run.job = cells.text();
  run.owner_uid = cells.number<uint32_t>(0, UINT32_MAX);
  run.created = cells.time();
  run.reported = cells.time();
  run.verdict = cells.text();
  auto outcome = outcome_from_json(cells.text());
  if (!outcome || !cells.sense()) return std::nullopt;
  run.outcome = std::move(*outcome);
  return run;
}

// The jobs that a node took part in, the newest first; with the figures of those in which it was the cause.
constexpr const char* kJobsOfNode =
    "SELECT run.job, run.created, run.owner_uid, cause.run IS NOT NULL, CASE WHEN cause.run IS NULL THEN '' ELSE "
    "run.outcome END FROM node JOIN run ON run.id=node.run LEFT JOIN cause ON cause.run=node.run AND "
    "cause.node=node.name AND cause.part=?2 WHERE node.name=?1 ORDER BY node.run DESC LIMIT ?3";

struct JobOfNode {
  std::string job;
  Time created{};
  uint32_t owner_uid = 0;
  bool caused = false;
  std::string outcome;
};

std::vector<JobOfNode> jobs_of_node(const std::string& node, ReportOutcome::Part part, int64_t most,
                                    sqlite3* database) {
  std::vector<JobOfNode> jobs;
  Asked rows(database, kJobsOfNode, node, part, most);
  while (rows.next()) {
    Cells cells = rows.cells();
    JobOfNode job;
    job.job = cells.text();
    job.created = cells.time();
    job.owner_uid = cells.number<uint32_t>(0, UINT32_MAX);
    job.caused = cells.flag();
    job.outcome = cells.text();
    jobs.push_back(std::move(job));
  }
  return jobs;
}

int64_t caused_in(const std::vector<JobOfNode>& jobs) {
  return std::count_if(jobs.begin(), jobs.end(), [](const JobOfNode& job) { return job.caused; });
}

// nullopt: it was the cause in less than two of its last jobs, which is told from these alone.
std::optional<NodeRecord> record_of(const std::string& node, ReportOutcome::Part part, sqlite3* database) {
  const std::vector<JobOfNode> recent = jobs_of_node(node, part, kRecentJobs, database);
  NodeRecord record;
  record.node = node;
  record.part = part;
  record.recent = static_cast<int>(recent.size());
  record.caused = static_cast<int>(caused_in(recent));
  if (record.caused < 2) return std::nullopt;
  const std::vector<JobOfNode> all = jobs_of_node(node, part, INT64_MAX, database);
  record.caused_ever = static_cast<int>(caused_in(all));
  std::set<int32_t> devices;
  std::set<uint32_t> owners;
  int caused = 0;  // from the newest on
  for (size_t i = 0; i < all.size(); ++i) {
    const JobOfNode& job = all[i];
    if (!job.caused) continue;
    if (++caused == 1) record.last = job.created;
    if (2 * caused > static_cast<int>(i)) {
      record.since = job.created;
      record.since_job = job.job;
    }
    if (std::ssize(record.jobs) == kRecentJobs) continue;
    record.jobs.push_back(job.job);
    owners.insert(job.owner_uid);
    const auto outcome = outcome_from_json(job.outcome);
    if (!outcome) continue;
    record.worst = std::max(record.worst, outcome->gain);
    for (const ReportOutcome::Cause& cause : outcome->causes) {
      if (cause.host == node && cause.part == part && cause.device >= 0) devices.insert(cause.device);
    }
  }
  record.devices.assign(devices.begin(), devices.end());
  record.owners.assign(owners.begin(), owners.end());
  return record;
}

struct OpenedHistory {
  sqlite3* database = nullptr;  // null: it was not opened
  bool damaged = false;         // what is in the file is no history
  std::string why;
};

OpenedHistory opened(const std::string& path) {
  OpenedHistory out;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const bool fine = sqlite3_open_v2(path.c_str(), &out.database, flags, nullptr) == SQLITE_OK &&
                    runs_well(out.database, "PRAGMA foreign_keys=ON") && runs_well(out.database, kHistoryTables);
  if (fine) {
    Asked format(out.database, "PRAGMA user_version");
    const int64_t number = format.next() ? format.cells().number() : -1;
    if (number == kHistoryFormat) return out;
    if (number == 0 && runs_well(out.database, "PRAGMA user_version=1")) return out;
    out.damaged = number > 0;
  }
  const int code = sqlite3_errcode(out.database) & 0xff;
  out.damaged = out.damaged || code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR;
  out.why = sqlite3_errmsg(out.database);
  sqlite3_close_v2(out.database);
  out.database = nullptr;
  return out;
}

}  // namespace

void History::CloseDatabase::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

History::History(sqlite3* database) : database_(database), deliveries_(database, mutex_) { count_all(); }
History::~History() = default;

std::unique_ptr<History> History::open(const std::string& path) {
  OpenedHistory history = opened(path);
  if (history.damaged) {
    std::error_code error;
    const std::string aside = path + ".damaged";
    std::filesystem::rename(path, aside, error);
    if (!error) log_warning("history_damaged", {{"err", "begun anew; what was there is now " + aside}});
    for (const char* const side : {"-wal", "-shm"}) std::filesystem::remove(path + side, error);
    history = opened(path);
  }
  if (history.database == nullptr) {
    log_warning("history_not_opened", {{"err", history.why + ": " + path + "; kept in memory until the next start"}});
    history = opened(":memory:");
  }
  return std::unique_ptr<History>(new History(history.database));
}

void History::add(const Run& run) {
  const std::lock_guard lock(mutex_);
  sqlite3* const database = database_.get();
  std::set<std::string> nodes(run.outcome.hosts.begin(), run.outcome.hosts.end());
  std::optional<int64_t> id;  // of the row that is replaced: rows are in the order of their first reports
  {
    Asked before(database, "SELECT run.id, name FROM run LEFT JOIN node ON run.id=node.run WHERE job=?1 AND created=?2",
                 run.job, run.created);
    while (before.next()) {
      Cells cells = before.cells();
      id = cells.number();
      nodes.insert(cells.text());
    }
  }
  bool fine = runs_well(database, "BEGIN IMMEDIATE") &&
              Asked(database, "DELETE FROM run WHERE job=?1 AND created=?2", run.job, run.created).done() &&
              Asked(database,
                    "INSERT INTO run (id, job, series, owner_uid, created, reported, verdict, outcome) "
                    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    id, run.job, series_of(run.job), run.owner_uid, run.created, run.reported, run.verdict,
                    to_json(run.outcome))
                  .done();
  id = sqlite3_last_insert_rowid(database);
  for (const std::string& host : run.outcome.hosts) {
    fine = fine && Asked(database, "INSERT OR IGNORE INTO node (run, name) VALUES (?1, ?2)", id, host).done();
  }
  for (const ReportOutcome::Cause& cause : run.outcome.causes) {
    if (cause.host.empty()) continue;
    fine = fine && Asked(database, "INSERT OR IGNORE INTO cause (run, node, part) VALUES (?1, ?2, ?3)", id, cause.host,
                         cause.part)
                       .done();
  }
  fine = fine && runs_well(database, "COMMIT");
  if (fine) {
    for (const std::string& host : nodes) {
      for (const auto part : {ReportOutcome::Part::gpu, ReportOutcome::Part::link}) count(host, part);
    }
    return;
  }
  log_warning("history_not_kept", {{"job", run.job}, {"err", sqlite3_errmsg(database)}});
  if (sqlite3_get_autocommit(database) == 0) runs_well(database, "ROLLBACK");
}

bool History::has(const std::string& job, Time created, Time reported) const {
  const std::lock_guard lock(mutex_);
  return Asked(database_.get(), "SELECT 1 FROM run WHERE job=?1 AND created=?2 AND reported>=?3", job, created,
               reported)
      .next();
}

void History::forget(Time before) {
  deliveries_.forget(before);
  const std::lock_guard lock(mutex_);
  const bool deleted = Asked(database_.get(), "DELETE FROM run WHERE reported<?1", before).done() &&
                       sqlite3_changes(database_.get()) > 0;
  if (deleted) count_all();
}

std::vector<Run> History::runs_where(const std::string& sql, const std::string& value, size_t most) const {
  std::vector<Run> runs;
  Asked rows(database_.get(), std::string("SELECT ") + kRunColumns + " FROM run WHERE " + sql + " LIMIT ?2", value,
             static_cast<int64_t>(most));
  while (rows.next()) {
    if (auto run = run_in(rows.cells())) runs.push_back(std::move(*run));
  }
  return runs;
}

std::vector<Run> History::runs_of(const std::string& series, size_t most, std::optional<uint32_t> owner) const {
  const std::string of_owner = owner ? " AND owner_uid=" + std::to_string(*owner) : "";
  const std::lock_guard lock(mutex_);
  return runs_where("series=?1" + of_owner + " ORDER BY created DESC, id DESC", series, most);
}

std::optional<Run> History::newest_of(const std::string& job) const {
  const std::lock_guard lock(mutex_);
  std::vector<Run> runs = runs_where("job=?1 ORDER BY created DESC", job, 1);
  return runs.empty() ? std::nullopt : std::optional(std::move(runs.front()));
}

JobKeys History::jobs_where(const char* sql, const std::string& value) const {
  const std::lock_guard lock(mutex_);
  JobKeys jobs;
  Asked rows(database_.get(), std::string("SELECT job, created FROM run WHERE ") + sql, value);
  while (rows.next()) {
    Cells cells = rows.cells();
    std::string job = cells.text();
    jobs.emplace(std::move(job), cells.time());
  }
  return jobs;
}

JobKeys History::jobs_with_text(const std::string& text) const {
  return jobs_where(
      "instr(lower(verdict), lower(?1)) OR id IN (SELECT run FROM node WHERE instr(lower(name), lower(?1)))", text);
}

JobKeys History::jobs_on_node(const std::string& node) const {
  return jobs_where("id IN (SELECT run FROM node WHERE name=?1)", node);
}

JobKeys History::jobs_with_loss(const std::string& kind) const {
  return jobs_where("json_extract(outcome, '$.loss')=?1", kind);
}

void History::count_all() {
  records_.clear();
  std::vector<std::pair<std::string, ReportOutcome::Part>> causes;
  Asked rows(database_.get(), "SELECT DISTINCT node, part FROM cause");
  while (rows.next()) {
    Cells cells = rows.cells();
    std::string node = cells.text();
    causes.emplace_back(std::move(node), cells.number<ReportOutcome::Part>(0, 1));
  }
  for (const auto& [node, part] : causes) count(node, part);
}

void History::count(const std::string& node, ReportOutcome::Part part) {
  if (auto record = record_of(node, part, database_.get())) {
    records_[{node, part}] = std::move(*record);
  } else {
    records_.erase({node, part});
  }
}

std::vector<NodeRecord> History::nodes(size_t most) const {
  const std::lock_guard lock(mutex_);
  std::vector<const NodeRecord*> of_late;
  for (const auto& [key, record] : records_) of_late.push_back(&record);
  const auto order = [](const NodeRecord* a, const NodeRecord* b) {
    return std::make_tuple(-a->caused, a->recent, -a->caused_ever, std::string_view(a->node)) <
           std::make_tuple(-b->caused, b->recent, -b->caused_ever, std::string_view(b->node));
  };
  std::sort(of_late.begin(), of_late.end(), order);
  of_late.resize(std::min(of_late.size(), most));
  std::vector<NodeRecord> records;
  for (const NodeRecord* record : of_late) records.push_back(*record);
  return records;
}

}  // namespace skewscope::gather
