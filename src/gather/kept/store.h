// What the daemon keeps, as the rest of it sees it: uploads that grow, files that are complete, jobs, reports.
//
// Every call may come from any thread. Questions are answered at once from memory. Changes are made by the store's own
// threads, in this order of trust: bytes in a part file -> fdatasync -> row committed in gather.sqlite -> callback.
// What a callback says is therefore true after kill -9 and after power loss. Callbacks run on a thread of the store and
// must not block; each is called exactly once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aging.h"
#include "skewscope/base/result.h"
#include "skewscope/gather.h"
#include "skewscope/protocol/names.h"
#include "skewscope/protocol/sha256.h"
#include "skewscope/protocol/upload_metadata.h"

namespace skewscope::gather {

class FileSystem;  // file_system.h: the few calls that write; tests put their own in

using Time = std::chrono::sys_seconds;

// Why the store did not do it; the HTTP side maps each to a status.
enum class Refusal {
  none,
  unknown,        // 404: no such upload, job, file
  expired,        // 410
  wrong_offset,   // 409: the offset is not the durable one
  wrong_digest,   // 460: the bytes are not those that were promised; at the end of an upload it is gone
  other_content,  // 409: the rank has another file and `replace` was not asked for
  too_large,      // 413
  no_space,       // 507: of the disk
  quota,          // 507: of the job or the user
  too_many,       // 429: open uploads of the job
  unavailable,    // 503: the store has failed or is closing; nothing is promised any more
};

template <class T>
struct Outcome {
  Refusal refusal = Refusal::none;
  T value{};
};
template <class T>
using Reply = std::function<void(Outcome<T>)>;

struct NewUpload {
  UploadMetadata metadata;
  std::optional<uint64_t> length;  // absent: given later (tus creation-defer-length)
  std::string said;                // the metadata as its sender wrote it; "": as encode() does
  uint32_t uid = 0;                // whose token it was
  std::string client;              // address, for the record
  std::optional<Time> written;     // when the file's content was, where its sender says so
  bool one_request = false;        // nobody can go on with it: nothing of it is recorded before it is a file
};

struct UploadState {
  std::string id;  // 32 hexadecimal digits
  UploadMetadata metadata;
  std::string said;  // as it was given
  std::optional<uint64_t> length;
  uint64_t offset = 0;  // durable: these bytes need never be sent again
  bool complete = false;
  bool grows = false;  // a log without an end: never complete
  Digest digest{};  // of the whole file, when complete; of the bytes so far, where create() or state() tells of a log
  Time expires{};
};

// The right to append to an upload. Only the newest one of an upload writes; the calls of one that was evicted are
// refused (wrong_offset). Dropping it makes what was written durable, unless it holds a checksum: a checked request
// counts whole or not at all. May outlive the store: then every call is refused.
class Writer {
 public:
  virtual ~Writer() = default;
  // `bytes` must live until `done`, which says whether more may come. One at a time.
  virtual void write(std::string_view bytes, Reply<Done> done) = 0;
  // The checksum was of another kind, and whoever wrote has seen that it is right: finish() no longer asks for one.
  virtual void vouch() = 0;
  // May be called before the last write is done; when that is refused, this is, too.
  // Makes all of it durable; at offset == length it verifies, commits the file and says complete. Ends the writer.
  // wrong_digest of a checked request: the offset is what it was. wrong_digest of the whole, other_content: the upload
  // is gone. no_space: what state() tells is durable, the rest is to be sent again.
  // `held` is let go as soon as the disk has the bytes: the answer waits for the commit of many.
  virtual void finish(Reply<UploadState> done, std::shared_ptr<void> held) = 0;
};

struct JobSettings {
  std::optional<int> world_size, captures;
  std::optional<std::chrono::seconds> deadline, retention;
  std::optional<uint32_t> owner_uid;
  std::vector<std::string> nodes;
  uint32_t sender_uid = 0;  // whose token makes the job, where there is none yet and nobody names the owner; not kept
};

// partial: ranks are missing, or may be: nobody has said how many there are.
enum class ReportState { none, waiting, running, complete, partial, failed };

// How a report ends that could not be made, besides its own exit codes; of those, the ones for want of disk and memory.
inline constexpr int kForkerGone = -1, kCannotFork = -2, kReportTooLarge = -3, kReportCannotWrite = 5,
                     kReportOutOfMemory = 6;
// The exit code of one that was made, and leaves out what is damaged or cannot be joined with the rest: it counts as
// partial.
inline constexpr int kReportInPart = 4;

struct MissingRanks {
  int capture = 0;
  std::vector<int> ranks;
};

struct JobState {
  std::string name;
  uint32_t owner_uid = 0;
  uint32_t epoch = 0;         // tokens of an older one are revoked
  int expected = 0;           // ranks per capture; 0: not known
  bool conflict = false;      // sources disagree about the world size; `expected` is the largest
  int64_t arrived = 0;        // ranks whose files are there, over all captures
  int64_t dumps = 0;          // of flight recorders, which count in nothing that is said of ranks and captures
  int captures = 1;           // announced, or begun: with a file or an open upload
  bool ended = false;         // no more captures come
  uint64_t bytes = 0;         // of complete files
  uint64_t report_bytes = 0;  // of reports
  // Some ranks of a capture were replaced and others were not: as long as a second run comes in, and after it where it
  // has less ranks than the first.
  bool mixed = false;
  bool report_waits_for_disk = false;
  int open_uploads = 0;               // but those of logs that grow
  bool grows = false;                 // has such a log
  std::vector<int> missing_ranks;     // in any capture that has begun; at most 1000
  std::vector<int> capture_numbers;   // of those that have a file or an open upload; in whole states alone
  std::vector<MissingRanks> missing;  // the same by capture: of the first 32 that lack any, at most 1000 in all
  ReportState report = ReportState::none;
  int report_generation = 0;  // newest that can be read; 0: none
  int ended_generation = 0;   // newest that has ended, made or not
  int report_exit_code = 0;
  Time created{}, ended_at{}, last_arrival{};
  Time last_dump{};  // when it came; 0: none has
  Time last_byte{};  // now, while a body is under way; 0: none has come
  // Files committed so far, and how often others were expected since the first; of those, known to the newest report.
  uint64_t arrivals = 0, reported_arrivals = 0;
  Time reported_at{};                  // when the newest report ended; 0: none has
  std::chrono::seconds report_took{};  // of that one
  std::optional<Time> failed_at;       // of a report that is to be tried again: it counts as not begun
  JobSettings settings;
};

// Whose share something takes. Where nobody named the owner, each job is its own, with its later runs; no job's name
// has a blank.
inline std::string owner_of(const std::string& job, uint32_t uid) {
  return uid == 0 ? std::string(name_of_run(job)) : "uid " + std::to_string(uid);
}

// Files of a whole set; 0: not known.
inline int64_t files_expected(const JobState& job) { return int64_t{job.expected} * job.captures; }
inline bool is_whole(const JobState& job) { return job.expected > 0 && job.arrived >= files_expected(job); }

// From when to when the files of a capture were written, as their senders say.
struct Written {
  Time first{}, last{};
};

// One run of a name, as far as it decides whether a file is of it (run_of_upload.h).
struct RunFacts {
  std::string job;     // NAME, NAME~2, ...
  bool whole = false;  // asked of the newest run alone
  bool ended = false;
  bool empty = true;         // it has no file and no open upload
  bool has_capture = false;  // that of the file
  Time ended_at{}, last_byte{};
  std::optional<std::chrono::seconds> deadline;  // of its settings
  Written written;  // of that capture; where no sender said, from the run's creation to its last byte
  // What it has of that rank and capture: a log, or a file with this digest that came then.
  bool has_log = false;
  std::optional<Digest> file;
  Time file_came{};
};

struct StoredFile {
  int fd = -1;  // owned by the receiver
  uint64_t size = 0;
  Digest digest{};
  const char* suffix = "";  // .json.gz ...
};

// Registered jobs that have sent nothing are none of these.
struct JobCounts {
  int64_t receiving = 0, complete = 0, ended = 0, files_expected = 0, ranks_arrived = 0;
};

struct StoreFigures {
  uint64_t received_bytes = 0, durable_bytes = 0, commits = 0, checksum_failures = 0, quarantined = 0, lost_files = 0,
           flushes = 0;
  double flush_seconds = 0, recovery_seconds = 0;
  uint64_t open_uploads = 0, files = 0, disk_free_bytes = 0, disk_size_bytes = 0;
  uint64_t jobs_deleted = 0;  // by retention
  uint64_t all_jobs = 0;      // registered ones, too
  JobCounts jobs;
  uint64_t quarantine_files = 0, quarantine_bytes = 0, quarantine_deleted = 0;
};

struct StoreOptions {
  std::string spool;
  GatherLimits limits;
  GatherRetention retention;                      // of the quarantine
  int file_threads = 8;                           // that flush; with 4, 10,000 files take a tenth longer on two cores
  FileSystem* files = nullptr;                    // null: the real one
  const char* database_vfs = nullptr;             // SQLite VFS by name; null: the default
  std::function<Time()> now;                      // null: the system's clock
  std::function<std::chrono::seconds()> running;  // null: CLOCK_BOOTTIME; with `now` given: that never jumps
  std::string boot;                               // from which that counts; "": the kernel's name of it
  // fsync or the database failed: stop serving, exit non-zero. Called once, on a thread of the store, which must not be
  // closed from within.
  std::function<void(const std::string& why)> failed;
};

class Store {
 public:
  // Takes the lock, recovers, and is ready. Errors: another daemon has it, an unknown format, no such folder.
  static Result<std::unique_ptr<Store>> open(const StoreOptions& options);
  virtual ~Store() = default;  // flushes what is open; pending replies come first

  // Uploads. A creation whose digest the job already has for that rank is complete at once, and so is one of length 0.
  // That of a log that grows (UploadMetadata) answers with the log of that rank, where there is one.
  virtual void create(const NewUpload& upload, Reply<UploadState> done) = 0;
  // Ends a running writer first (its next write is refused), so that the offset answered is the one the next writer
  // must use.
  virtual void state(const std::string& id, Reply<UploadState> done) = 0;
  // `length`: when it was deferred. `checksum`: of the bytes of this writer alone. `evicted`: another writer takes
  // over.
  virtual void append(const std::string& id, uint64_t offset, std::optional<uint64_t> length,
                      std::optional<Digest> checksum, std::function<void()> evicted,
                      Reply<std::shared_ptr<Writer>> done) = 0;
  // The digest of the whole, given with the last bytes. Must agree with one given before.
  virtual void promise_digest(const std::string& id, const Digest& digest, Reply<Done> done) = 0;
  virtual void remove(const std::string& id, Reply<Done> done) = 0;
  virtual std::optional<UploadMetadata> metadata_of(const std::string& id) const = 0;

  // Jobs. While one is being deleted, put_job and create are refused as unavailable and it is unknown to all else.
  // Another owner than before raises its epoch, too.
  virtual void put_job(const std::string& job, const JobSettings& settings, Reply<JobState> done) = 0;
  virtual void end_job(const std::string& job, Reply<JobState> done) = 0;
  // What the newest report knows counts as not known: another is due, after a pause (report_due). unknown: also where
  // no file has come.
  virtual void report_again(const std::string& job, Reply<JobState> done) = 0;
  // From the answer on, tokens that were given for the job before do not count.
  virtual void raise_epoch(const std::string& job, Reply<JobState> done) = 0;
  // `who`: for the audit.
  virtual void delete_job(const std::string& job, const std::string& who, Reply<Done> done) = 0;
  // By retention. unknown: `holds`, asked in the moment of the deletion, said no. It must not call the store.
  virtual void delete_job_if(const std::string& job, const std::function<bool(const JobState&)>& holds,
                             Reply<Done> done) = 0;
  virtual std::optional<JobState> job(const std::string& job) const = 0;
  // The runs of a name that there are, the first one first; and what decides of which of them a file is.
  virtual std::vector<std::string> runs_of(const std::string& name) const = 0;
  virtual std::vector<RunFacts> run_facts(const UploadMetadata& file) const = 0;
  virtual std::optional<JobState> job_in_brief(const std::string& job) const = 0;  // without missing_ranks: in O(1)
  // The epoch of the job's name, whose runs share it, or of the next one of this name: a deleted job's tokens do not
  // count in it. 0 for a name never used.
  virtual uint32_t epoch_of(const std::string& job) const = 0;
  virtual std::vector<JobState> jobs(const std::string& after, size_t limit) const = 0;  // by name, in brief
  virtual Outcome<StoredFile> read(const std::string& job, int capture, int rank) const = 0;

  // Reports. begin_report gives the folders of a new generation (too_many: one is running; no_space: it would leave
  // too little of the disk); its `output` does not exist. end_report makes it current when the exit code is 0, 1 or 4
  // and it holds COMPLETE; else it is failed, and the one before it stays. What failed for want of a process, of disk
  // or of memory is to be tried again some times, and once after a start. The two newest that can be read are kept.
  struct ReportFolders {
    int generation = 0;
    std::string traces, output;
    int world_size = 0;    // 0: not known
    bool partial = false;  // some of the ranks are missing in some capture, or nobody has said how many there are
    std::vector<int> missing_ranks;
    uint64_t room = 0;  // bytes that the report may have
    std::string hosts;  // as ReportTask
  };
  virtual void begin_report(const std::string& job, Reply<ReportFolders> done) = 0;
  virtual void end_report(const std::string& job, int generation, int exit_code, Reply<JobState> done) = 0;
  // index.html, or a file that is_report_file() names, of a report, or of a capture's own report in it
  // (report_of_capture()); generation 0: the newest that can be read. Or its log, what it said while it was made:
  // generation 0: the newest at all.
  virtual Outcome<StoredFile> read_report(const std::string& job, int generation, const std::string& name) const = 0;

  // What is_report_file() names of the newest report that can be read, tables last.
  struct ReportFile {
    std::string name;
    uint64_t size = 0;
  };
  virtual std::vector<ReportFile> report_files(const std::string& job) const = 0;
  // The captures that have a report of their own in that report, by number.
  virtual std::vector<int> reported_captures(const std::string& job) const = 0;

  // Called on a thread of the store after each change of a job's state.
  virtual void on_job_change(std::function<void(const std::string& job)> hook) = 0;
  virtual StoreFigures figures() const = 0;
  virtual Aging aging() const = 0;   // at present
  virtual bool healthy() const = 0;  // last flush good, disk below the hard mark
  // No thread of it hangs: each is idle, or has got further since this was asked before. One asker.
  virtual bool advances() = 0;
  // From now on.
  virtual void use(const GatherLimits& limits, const GatherRetention& retention) = 0;
  // Stops taking work, makes open uploads durable, then calls `done`.
  virtual void drain(std::function<void()> done) = 0;
};

}  // namespace skewscope::gather
