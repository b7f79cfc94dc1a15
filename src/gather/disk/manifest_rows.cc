// Rows in and out. What is read back decides which files are touched: every name and number is held to its bounds.
#include <limits>

#include "manifest_statement.h"
#include "skewscope/protocol/names.h"
#include "spool_paths.h"

namespace skewscope::gather {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kMostAudited = 1'000'000;
constexpr int64_t kMostUid = std::numeric_limits<uint32_t>::max();

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    out.push_back(text.substr(begin, end - begin));
  }
  return out;
}

std::string job_name(Cells& cells) {
  std::string name = cells.text();
  cells.require(is_job(name));
  return name;
}

std::optional<int> optional_number(Cells& cells, int least, int most) {
  return cells.is_null() ? std::nullopt : std::optional(cells.number<int>(least, most));
}

std::optional<std::chrono::seconds> optional_span(Cells& cells) {
  return cells.is_null() ? std::nullopt : std::optional(std::chrono::seconds(cells.number<int64_t>(0, kMost)));
}

JobRow job_row(Cells& cells) {
  JobRow row;
  row.name = job_name(cells);
  row.owner_uid = cells.number<uint32_t>(0, kMostUid);
  row.epoch = cells.number<uint32_t>(0, kMostUid);
  row.settings.world_size = optional_number(cells, 1, kMostRanks);
  row.settings.captures = optional_number(cells, 1, kMostCaptures + 1);
  row.settings.deadline = optional_span(cells);
  row.settings.retention = optional_span(cells);
  row.settings.nodes = lines_of(cells.text());
  row.settings.owner_uid = row.owner_uid;
  row.least_world_size = cells.number<int>(0, kMostRanks);
  row.most_world_size = cells.number<int>(0, kMostRanks);
  row.ended = cells.flag();
  row.deleting = cells.flag();
  row.created = cells.time();
  row.last_byte = cells.time();
  row.ended_at = cells.time();
  row.last_arrival = cells.time();
  row.arrivals = cells.number<uint64_t>(0, kMost);
  return row;
}

UploadRow upload_row(Cells& cells) {
  UploadRow row;
  row.id = cells.text();
  cells.require(is_upload_id(row.id));
  UploadMetadata& metadata = row.asked.metadata;
  metadata.job = job_name(cells);
  metadata.capture = cells.number<int>(0, kMostDumpMinute);
  metadata.rank = cells.number<int>(0, kMostRanks - 1);
  metadata.filename = cells.text();
  if (!cells.is_null()) metadata.sha256 = cells.digest();
  metadata.world_size = optional_number(cells, 1, kMostRanks);
  metadata.replace = cells.flag();
  if (!cells.is_null()) row.asked.length = cells.number<uint64_t>(0, kMost);
  row.asked.uid = cells.number<uint32_t>(0, kMostUid);
  row.asked.client = cells.text();
  row.stage = cells.number<UploadStage>(0, static_cast<int>(UploadStage::growing));
  metadata.grows = row.stage == UploadStage::growing;
  row.durable = cells.number<uint64_t>(0, kMost);
  row.segment_start = cells.number<uint64_t>(0, static_cast<int64_t>(row.durable));
  row.segment = cells.digest();
  row.digest = cells.digest();
  row.created = cells.time();
  row.progress = cells.time();
  return row;
}

FileRow file_row(Cells& cells) {
  FileRow row;
  row.job = job_name(cells);
  row.capture = cells.number<int>(0, kMostDumpMinute);
  row.rank = cells.number<int>(0, kMostRanks - 1);
  row.generation = cells.number<int>(1, std::numeric_limits<int>::max());
  row.size = cells.number<uint64_t>(0, kMost);
  row.digest = cells.digest();
  row.suffix = cells.text();
  cells.require(ranks_of(row.suffix) > 0);
  row.uid = cells.number<uint32_t>(0, kMostUid);
  row.client = cells.text();
  row.filename = cells.text();
  row.committed_at = cells.time();
  row.recovered = cells.flag();
  return row;
}

std::pair<std::string, std::string> said_row(Cells& cells) {
  std::string id = cells.text();
  cells.require(is_upload_id(id));
  return {std::move(id), cells.text()};
}

std::pair<std::pair<std::string, int>, uint64_t> report_size_row(Cells& cells) {
  std::string name = job_name(cells);
  const int generation = cells.number<int>(1, 1 << 30);
  return {{std::move(name), generation}, cells.number<uint64_t>(0, kMost)};
}

std::pair<std::string, uint32_t> removed_row(Cells& cells) {
  std::string name = cells.text();
  cells.require(name.empty() || is_name(name));
  return {std::move(name), cells.number<uint32_t>(1, kMostUid)};
}

Aging::Seen seen_row(Cells& cells) {
  constexpr int64_t kLongestHold = 3600;
  Aging::Seen seen;
  seen.boot = cells.text();
  seen.wall = Time(std::chrono::seconds(cells.number<int64_t>(0, kMost)));
  seen.running = std::chrono::seconds(cells.number<int64_t>(0, kMost));
  seen.held = std::chrono::seconds(cells.number<int64_t>(0, kLongestHold));
  return seen;
}

Aging::Jump jump_row(Cells& cells) {
  const auto at = std::chrono::seconds(cells.number<int64_t>(0, kMost));
  return {Time(at), std::chrono::seconds(cells.number<int64_t>(1, kMost))};
}

struct WrittenRow {
  std::string job;
  int capture = 0;
  Written written;
};

WrittenRow written_row(Cells& cells) {
  WrittenRow row;
  row.job = job_name(cells);
  row.capture = cells.number<int>(0, kMostDumpMinute);
  row.written.first = cells.time();
  row.written.last = cells.time();
  return row;
}

ReportRow report_row(Cells& cells) {
  ReportRow row;
  row.job = job_name(cells);
  row.generation = cells.number<int>(1, 1 << 30);
  row.state = cells.number<ReportState>(static_cast<int>(ReportState::none), static_cast<int>(ReportState::failed));
  row.arrivals = cells.number<uint64_t>(0, kMost);
  row.started = cells.time();
  row.ended = cells.time();
  row.exit_code = cells.number<int>(std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
  return row;
}

}  // namespace

std::string part_path(const UploadRow& row) {
  const UploadMetadata& metadata = row.asked.metadata;
  return row.stage == UploadStage::growing ? rank_path(metadata.job, metadata.capture, metadata.rank, kGrowingSuffix)
                                           : part_path(row.id);
}

sqlite3_stmt* Manifest::prepared(const char* sql) {
  auto& statement = statements_[sql];
  if (!statement) {
    sqlite3_stmt* made = nullptr;
    const int code = sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr);
    if (code != SQLITE_OK && error_ == SQLITE_OK) error_ = code;
    statement.reset(made);
  }
  return statement.get();
}

// Updated in place where there is one: a row that others refer to must not go, not even to come again.
void Manifest::put(const JobRow& row) {
  add_job(row);
  run("UPDATE job SET owner_uid=?2, epoch=?3, world_size=?4, captures=?5, deadline_s=?6, retention_s=?7, nodes=?8, "
      "ended=?9, deleting=?10, last_byte=?11, ended_at=?12 WHERE name=?1",
      row.name, row.owner_uid, row.epoch, row.settings.world_size, row.settings.captures, row.settings.deadline,
      row.settings.retention, joined(row.settings.nodes), row.ended, row.deleting, row.last_byte, row.ended_at);
}

void Manifest::add_job(const JobRow& row) {
  run("INSERT OR IGNORE INTO job VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", row.name, row.owner_uid, row.epoch,
      row.settings.world_size, row.settings.captures, row.settings.deadline, row.settings.retention,
      joined(row.settings.nodes), row.least_world_size, row.most_world_size, row.ended, row.deleting, row.created,
      row.last_byte, row.ended_at, row.last_arrival, row.arrivals);
}

void Manifest::add_world_size(const std::string& job, int world_size) {
  run("UPDATE job SET least_told = iif(least_told = 0, ?2, min(least_told, ?2)), most_told = max(most_told, ?2) "
      "WHERE name = ?1",
      job, world_size);
}

void Manifest::arrived(const std::string& job, Time at) {
  run("UPDATE job SET arrivals = arrivals + 1, last_arrival = ?2, last_byte = ?2 WHERE name = ?1", job, at);
}

void Manifest::widened(const std::string& job) { run("UPDATE job SET arrivals = arrivals + 1 WHERE name = ?1", job); }

void Manifest::put_durable(const std::string& id, uint64_t durable, uint64_t segment_start, const Digest& segment,
                           Time at) {
  run("UPDATE upload SET durable=?2, segment_start=?3, segment_sha256=?4, progress=?5 WHERE id=?1", id, durable,
      segment_start, segment, at);
}

void Manifest::put(const UploadRow& row) {
  const UploadMetadata& metadata = row.asked.metadata;
  run("INSERT OR REPLACE INTO upload VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", row.id, metadata.job,
      metadata.capture, metadata.rank, metadata.filename, metadata.sha256, metadata.world_size, metadata.replace,
      row.asked.length, row.asked.uid, row.asked.client, row.stage, row.durable, row.segment_start, row.segment,
      row.digest, row.created, row.progress);
  const std::string said = row.asked.said.empty() && metadata.ranks > 1 ? encode(metadata) : row.asked.said;
  if (!said.empty()) run("INSERT OR REPLACE INTO upload_said VALUES (?,?)", row.id, said);
}

void Manifest::put(const FileRow& row) {
  remove_file(row.job, row.capture, row.rank);
  run("INSERT INTO file VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", row.job, row.capture, row.rank, row.generation, row.size,
      row.digest, row.suffix, row.uid, row.client, row.filename, row.committed_at, row.recovered);
}

void Manifest::put(const ReportRow& row) {
  run("INSERT OR REPLACE INTO report VALUES (?,?,?,?,?,?,?)", row.job, row.generation, row.state, row.arrivals,
      row.started, row.ended, row.exit_code);
  run("INSERT OR REPLACE INTO report_size VALUES (?,?,?)", row.job, row.generation, row.bytes);
}

void Manifest::remove_upload(const std::string& id) {
  run("DELETE FROM upload WHERE id = ?", id);
  run("DELETE FROM upload_said WHERE id = ?", id);
}

void Manifest::remove_file(const std::string& job, int capture, int rank) {
  run("DELETE FROM file WHERE job = ? AND capture = ? AND rank = ?", job, capture, rank);
}

void Manifest::remove_report(const std::string& job, int generation) {
  run("DELETE FROM report WHERE job = ? AND generation = ?", job, generation);
  run("DELETE FROM report_size WHERE job = ? AND generation = ?", job, generation);
}

void Manifest::put_written(const std::string& job, int capture, const Written& written) {
  run("INSERT OR REPLACE INTO capture_written VALUES (?,?,?,?)", job, capture, written.first, written.last);
}

void Manifest::remove_job(const std::string& job, uint32_t next_epoch, Time at) {
  if (next_epoch > 0) {
    run("INSERT OR REPLACE INTO removed_job VALUES (?,?,?)", std::string(name_of_run(job)), int64_t{next_epoch}, at);
  }
  run("DELETE FROM capture_written WHERE job = ?", job);
  run("DELETE FROM upload_said WHERE id IN (SELECT id FROM upload WHERE job = ?)", job);
  run("DELETE FROM upload WHERE job = ?", job);
  run("DELETE FROM file WHERE job = ?", job);
  run("DELETE FROM report WHERE job = ?", job);
  run("DELETE FROM report_size WHERE job = ?", job);
  run("DELETE FROM job WHERE name = ?", job);
}

void Manifest::put_least_epoch(uint32_t epoch, Time at) {
  run("INSERT OR REPLACE INTO removed_job VALUES ('', ?, ?)", int64_t{epoch}, at);
}

void Manifest::forget_old(Time at) {
  run("DELETE FROM removed_job WHERE removed_at < ?", at - kLongestTokenLife);
  run("DELETE FROM audit WHERE at < ?", at - kLongestTokenLife);
  run("DELETE FROM audit WHERE rowid <= (SELECT max(rowid) FROM audit) - ?", kMostAudited);
}

void Manifest::audit(Time at, const std::string& who, const std::string& what) {
  run("INSERT INTO audit VALUES (?,?,?)", at, who, what);
}

void Manifest::put(const Aging::Seen& seen) {
  run("DELETE FROM clocks");
  run("DELETE FROM clock_jump");
  run("INSERT INTO clocks VALUES (?,?,?,?)", seen.boot, seen.wall, seen.running, seen.held);
  for (const Aging::Jump& jump : seen.jumps) run("INSERT INTO clock_jump VALUES (?,?)", jump.at, jump.length);
}

std::optional<Aging::Seen> Manifest::seen() {
  if (!has_table("clocks") || !has_table("clock_jump")) return std::nullopt;
  std::vector<Aging::Seen> rows = read("SELECT * FROM clocks", seen_row);
  if (rows.empty()) return std::nullopt;
  rows.back().jumps = read("SELECT * FROM clock_jump ORDER BY rowid", jump_row);
  return rows.back();
}

// A spool that is only looked at may have been made before there was such a table.
bool Manifest::has_table(const std::string& name) {
  sqlite3_stmt* statement = prepared("SELECT count(*) FROM sqlite_schema WHERE name = ?");
  if (statement == nullptr) return false;
  bind(statement, 1, name);
  const bool there = sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int64(statement, 0) > 0;
  sqlite3_reset(statement);
  return there;
}

std::map<std::string, uint32_t> Manifest::next_epochs() {
  if (!has_table("removed_job")) return {};
  std::map<std::string, uint32_t> out;
  for (auto& row : read("SELECT name, next_epoch FROM removed_job", removed_row)) out.insert(std::move(row));
  return out;
}

std::vector<JobRow> Manifest::jobs() {
  std::vector<JobRow> rows = read("SELECT * FROM job ORDER BY name", job_row);
  if (!has_table("capture_written")) return rows;
  std::map<std::string, std::map<int, Written>> written;
  for (const WrittenRow& row : read("SELECT * FROM capture_written", written_row)) {
    written[row.job].emplace(row.capture, row.written);
  }
  for (JobRow& row : rows) {
    const auto found = written.find(row.name);
    if (found != written.end()) row.written = std::move(found->second);
  }
  return rows;
}
std::vector<UploadRow> Manifest::uploads() {
  std::vector<UploadRow> rows = read("SELECT * FROM upload ORDER BY id", upload_row);
  if (!has_table("upload_said")) return rows;
  std::map<std::string, std::string> said;
  for (auto& row : read("SELECT * FROM upload_said", said_row)) said.insert(std::move(row));
  for (UploadRow& row : rows) {
    const auto found = said.find(row.id);
    if (found == said.end()) continue;
    row.asked.said = found->second;
    row.asked.metadata.ranks = parse_upload_metadata(found->second).metadata.ranks;
  }
  return rows;
}

std::vector<FileRow> Manifest::files() {
  return read("SELECT * FROM file ORDER BY job, capture, rank, generation", file_row);
}
std::vector<ReportRow> Manifest::reports() {
  std::vector<ReportRow> rows = read("SELECT * FROM report ORDER BY job, generation", report_row);
  if (!has_table("report_size")) return rows;
  std::map<std::pair<std::string, int>, uint64_t> sizes;
  for (auto& row : read("SELECT * FROM report_size", report_size_row)) sizes.insert(std::move(row));
  for (ReportRow& row : rows) {
    const auto size = sizes.find({row.job, row.generation});
    if (size != sizes.end()) row.bytes = size->second;
  }
  return rows;
}

}  // namespace skewscope::gather
