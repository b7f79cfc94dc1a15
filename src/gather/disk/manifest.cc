#include "manifest.h"

#include <fmt/format.h>

#include <cerrno>

#include "manifest_statement.h"

namespace skewscope::gather {
namespace {

constexpr const char* kTables = R"(
CREATE TABLE job (name TEXT PRIMARY KEY, owner_uid INTEGER NOT NULL, epoch INTEGER NOT NULL, world_size INTEGER,
  captures INTEGER, deadline_s INTEGER, retention_s INTEGER, nodes TEXT NOT NULL, least_told INTEGER NOT NULL,
  most_told INTEGER NOT NULL, ended INTEGER NOT NULL, deleting INTEGER NOT NULL, created INTEGER NOT NULL,
  last_byte INTEGER NOT NULL, ended_at INTEGER NOT NULL, last_arrival INTEGER NOT NULL,
  arrivals INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE upload (id TEXT PRIMARY KEY, job TEXT NOT NULL REFERENCES job(name), capture INTEGER NOT NULL,
  rank INTEGER NOT NULL, filename TEXT NOT NULL, declared_sha256 BLOB, world_size INTEGER, replaces INTEGER NOT NULL,
  length INTEGER, uid INTEGER NOT NULL, client TEXT NOT NULL, state INTEGER NOT NULL, durable INTEGER NOT NULL,
  segment_start INTEGER NOT NULL, segment_sha256 BLOB NOT NULL, sha256 BLOB NOT NULL, created INTEGER NOT NULL,
  progress INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE file (job TEXT NOT NULL REFERENCES job(name), capture INTEGER NOT NULL, rank INTEGER NOT NULL,
  generation INTEGER NOT NULL, size INTEGER NOT NULL, sha256 BLOB NOT NULL, suffix TEXT NOT NULL, uid INTEGER NOT NULL,
  client TEXT NOT NULL, filename TEXT NOT NULL, committed_at INTEGER NOT NULL, recovered INTEGER NOT NULL,
  PRIMARY KEY (job, capture, rank, generation)) STRICT, WITHOUT ROWID;
CREATE TABLE report (job TEXT NOT NULL REFERENCES job(name), generation INTEGER NOT NULL, state INTEGER NOT NULL,
  arrivals INTEGER NOT NULL, started INTEGER NOT NULL, ended INTEGER NOT NULL, exit_code INTEGER NOT NULL,
  PRIMARY KEY (job, generation)) STRICT, WITHOUT ROWID;
CREATE TABLE audit (at INTEGER NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL) STRICT;
)";
// Came after the first spools of this format: made where it is missing, and an older program passes it over.
constexpr const char* kLaterTables =
    "CREATE TABLE IF NOT EXISTS removed_job (name TEXT PRIMARY KEY, next_epoch INTEGER NOT NULL, "
    "removed_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS report_size (job TEXT NOT NULL, generation INTEGER NOT NULL, bytes INTEGER NOT NULL, "
    "PRIMARY KEY (job, generation)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS upload_said (id TEXT PRIMARY KEY, metadata TEXT NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS capture_written (job TEXT NOT NULL, capture INTEGER NOT NULL, first INTEGER NOT NULL, "
    "last INTEGER NOT NULL, PRIMARY KEY (job, capture)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS clocks (boot TEXT NOT NULL, wall INTEGER NOT NULL, running INTEGER NOT NULL, "
    "held INTEGER NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS clock_jump (at INTEGER NOT NULL, length INTEGER NOT NULL) STRICT;";

// SQLite takes a quota that is used up for a broken disk; what the kernel said is still there when it returns.
int full_if_over_quota(int code) { return code == SQLITE_IOERR_WRITE && errno == EDQUOT ? SQLITE_FULL : code; }

ManifestStatus status_of(int code) {
  switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return ManifestStatus::fine;
    case SQLITE_FULL:
      return ManifestStatus::full;
    case SQLITE_ERROR:  // our own statements are sound: what they are about is not
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ManifestStatus::damaged;
    default:
      return ManifestStatus::broken;
  }
}

}  // namespace

int Manifest::execute(const std::string& sql) {
  return sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
}

// The pragmas in this order: the lock mode must be before the file is first looked at.
ManifestStatus Manifest::settle(bool make) {
  int code = execute(
      "PRAGMA locking_mode=EXCLUSIVE; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
      "PRAGMA foreign_keys=ON");
  if (code != SQLITE_OK) return status_of(code);
  int64_t application = 0, format = 0, schema = 0;
  const std::pair<const char*, int64_t*> wanted[] = {
      {"PRAGMA application_id", &application}, {"PRAGMA user_version", &format}, {"PRAGMA schema_version", &schema}};
  for (const auto& [sql, value] : wanted) {
    sqlite3_stmt* statement = prepared(sql);
    code = statement == nullptr ? error_ : sqlite3_step(statement);
    if (code != SQLITE_ROW) return status_of(code == SQLITE_DONE ? SQLITE_CORRUPT : code);
    *value = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
  }
  const bool empty = application == 0 && format == 0 && schema == 0;
  if (empty && !make) return ManifestStatus::damaged;
  if (!empty && (application != kManifestApplication || format != kManifestFormat)) return ManifestStatus::foreign;
  code = execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0");
  if (code != SQLITE_OK) return status_of(code);
  if (!empty) {
    const ManifestStatus sound = check();
    return sound == ManifestStatus::fine && make ? status_of(execute(kLaterTables)) : sound;
  }
  return status_of(execute(fmt::format("BEGIN; PRAGMA application_id={}; PRAGMA user_version={}; {} {} COMMIT",
                                       kManifestApplication, kManifestFormat, kTables, kLaterTables)));
}

// quick_check does not see rows that are out of order: what is then removed by its key is another row.
ManifestStatus Manifest::check() {
  sqlite3_stmt* statement = prepared("PRAGMA integrity_check(1)");
  const int code = statement == nullptr ? error_ : sqlite3_step(statement);
  if (code != SQLITE_ROW) return status_of(code == SQLITE_DONE ? SQLITE_CORRUPT : code);
  const auto* said = sqlite3_column_text(statement, 0);
  const bool sound = said != nullptr && std::string_view(reinterpret_cast<const char*>(said)) == "ok";
  sqlite3_reset(statement);
  return sound ? ManifestStatus::fine : ManifestStatus::damaged;
}

Manifest::Opened Manifest::open(const std::string& path, const char* vfs, bool make) {
  Opened out;
  sqlite3* database = nullptr;
  const int flags =
      SQLITE_OPEN_READWRITE | (make ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path.c_str(), &database, flags, vfs);
  out.manifest.reset(new Manifest(database));
  out.status = code == SQLITE_OK ? out.manifest->settle(make) : status_of(code);
  if (out.status != ManifestStatus::fine) {
    out.why = sqlite3_errmsg(database);
    out.manifest.reset();
    return out;
  }
  const auto count_pages = [](void* pages, sqlite3*, const char*, int count) {
    *static_cast<uint64_t*>(pages) = static_cast<uint64_t>(count);
    return SQLITE_OK;
  };
  sqlite3_wal_hook(database, count_pages, &out.manifest->log_pages_);
  return out;
}

ManifestStatus Manifest::transaction(const std::function<void()>& change) {
  error_ = execute("BEGIN IMMEDIATE");
  if (error_ == SQLITE_OK) change();
  errno = 0;
  if (error_ == SQLITE_OK) error_ = full_if_over_quota(execute("COMMIT"));
  if (error_ != SQLITE_OK && sqlite3_get_autocommit(database_.get()) == 0) execute("ROLLBACK");
  return status_of(error_);
}

ManifestStatus Manifest::status() const { return status_of(error_); }

std::string Manifest::why() const { return sqlite3_errmsg(database_.get()); }

ManifestStatus Manifest::checkpoint() {
  errno = 0;
  const int code = full_if_over_quota(
      sqlite3_wal_checkpoint_v2(database_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr));
  if (code == SQLITE_OK) log_pages_ = 0;
  return status_of(code);
}

uint64_t Manifest::log_bytes() const { return log_pages_ * 4096; }

ManifestStatus Manifest::back_up(const std::string& path) {
  error_ = SQLITE_OK;
  run("VACUUM INTO ?1", path);
  return status_of(error_);
}

}  // namespace skewscope::gather
