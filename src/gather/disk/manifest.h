// gather.sqlite: jobs, uploads, files, reports, as rows. What the daemon believes after a start is what is in here.
//
// One connection, in WAL mode with synchronous=FULL: a transaction that returned is on stable storage. locking_mode is
// EXCLUSIVE before the first access, so that no shared-memory file exists and no second process can open it. One thread
// at a time.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skewscope/protocol/sha256.h"
#include "spool_paths.h"
#include "src/gather/kept/aging.h"
#include "src/gather/kept/store.h"

namespace skewscope::gather {

inline constexpr int kManifestFormat = 1;
inline constexpr int kManifestApplication = 0x736b6777;  // "skgw"

struct JobRow {
  std::string name;
  uint32_t owner_uid = 0, epoch = 0;
  JobSettings settings;
  int least_world_size = 0, most_world_size = 0;  // of those that uploads named; 0: none did
  bool ended = false, deleting = false;
  Time created{}, last_byte{}, ended_at{}, last_arrival{};
  uint64_t arrivals = 0;
  std::map<int, Written> written;  // by capture, where senders have said so
};

enum class UploadStage {
  open,
  replacing,  // the file of its rank is being exchanged for this one: recovery looks where both are
  complete,
  expired,
  growing,  // of a log without an end, whose bytes lie where the file of its rank belongs
};

struct UploadRow {
  std::string id;
  NewUpload asked;
  UploadStage stage = UploadStage::open;
  uint64_t durable = 0;
  uint64_t segment_start = 0;  // bytes [segment_start, durable) have the digest `segment`
  Digest segment{};
  Digest digest{};  // of the whole, when replacing or complete
  Time created{}, progress{};
};

struct FileRow {
  std::string job;
  int capture = 0, rank = 0, generation = 1;
  uint64_t size = 0;
  Digest digest{};
  std::string suffix;
  uint32_t uid = 0;
  std::string client, filename;
  Time committed_at{};
  bool recovered = false;  // from the file itself, when the manifest was damaged
  bool grows = false;      // it has no row: it is what came of an upload that grows, and charged as such

  int last_rank() const { return rank + ranks_of(suffix) - 1; }
};

struct ReportRow {
  std::string job;
  int generation = 0;
  ReportState state = ReportState::running;
  uint64_t arrivals = 0;  // of the job when it was begun
  Time started{}, ended{};
  int exit_code = 0;
  uint64_t bytes = 0;  // on the disk, of one that can be read
};

inline bool is_open(const UploadRow& row) {
  return row.stage == UploadStage::open || row.stage == UploadStage::replacing || row.stage == UploadStage::growing;
}

// The bytes of an upload lie here.
std::string part_path(const UploadRow& row);

enum class ManifestStatus {
  fine,
  full,     // nothing was changed; more may work
  broken,   // an I/O error: nothing is known any more
  damaged,  // what is in the file makes no sense
  foreign,  // another program's or another format
};

class Manifest {
 public:
  struct Opened;
  // `make`: an empty one when there is none. `vfs`: SQLite's, by name; null: the default.
  static Opened open(const std::string& path, const char* vfs, bool make);

  // Runs `change`, whose calls below fill one transaction. Not fine: none of it holds.
  ManifestStatus transaction(const std::function<void()>& change);
  // A job that is there already keeps what add_job, add_world_size, arrived and widened count up.
  void put(const JobRow& row);
  void add_job(const JobRow& row);  // unless it is there
  void add_world_size(const std::string& job, int world_size);
  void arrived(const std::string& job, Time at);
  void widened(const std::string& job);
  void put_written(const std::string& job, int capture, const Written& written);
  void put(const UploadRow& row);
  void put_durable(const std::string& id, uint64_t durable, uint64_t segment_start, const Digest& segment, Time at);
  void put(const FileRow& row);  // replaces every generation of its rank
  void put(const ReportRow& row);
  void remove_upload(const std::string& id);
  void remove_file(const std::string& job, int capture, int rank);
  void remove_report(const std::string& job, int generation);
  // And all that belongs to it. `next_epoch`, with which another job of its name begins, is remembered for as long as a
  // token can live.
  void remove_job(const std::string& job, uint32_t next_epoch, Time at);
  // No job that is made from now on begins with a smaller one: of a manifest that was restored, whose last removals
  // nobody knows.
  void put_least_epoch(uint32_t epoch, Time at);
  // Deletes what nobody needs any more: epochs that no token can be older than, and old rows of the audit.
  void forget_old(Time at);
  void audit(Time at, const std::string& who, const std::string& what);
  void put(const Aging::Seen& seen);

  // What is in them is checked for sense: rows that make none are passed over and counted.
  std::vector<JobRow> jobs();
  // What another job begins with, by name of one that was removed; "": of every name.
  std::map<std::string, uint32_t> next_epochs();
  std::vector<UploadRow> uploads();
  std::vector<FileRow> files();
  std::vector<ReportRow> reports();
  std::optional<Aging::Seen> seen();
  uint64_t senseless_rows() const { return senseless_; }
  ManifestStatus status() const;  // of what was read
  std::string why() const;        // of the last failure

  // Copies the write-ahead log into the database: needed now and then, or the log grows.
  ManifestStatus checkpoint();
  uint64_t log_bytes() const;
  // A whole copy in the file `path`, which must not exist.
  ManifestStatus back_up(const std::string& path);

 private:
  struct CloseDatabase {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };

  explicit Manifest(sqlite3* database) : database_(database) {}
  ManifestStatus settle(bool make);
  ManifestStatus check();
  int execute(const std::string& sql);
  bool has_table(const std::string& name);
  sqlite3_stmt* prepared(const char* sql);
  template <class... Values>
  void run(const char* sql, const Values&... values);
  template <class Row>
  std::vector<Row> read(const char* sql, Row (*row)(class Cells&));

  struct FinalizeStatement {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  std::map<const char*, std::unique_ptr<sqlite3_stmt, FinalizeStatement>> statements_;
  int error_ = SQLITE_OK;  // the first since it was last asked
  uint64_t log_pages_ = 0, senseless_ = 0;
};

struct Manifest::Opened {
  ManifestStatus status = ManifestStatus::broken;
  std::string why;  // when not fine
  std::unique_ptr<Manifest> manifest;
};

}  // namespace skewscope::gather
