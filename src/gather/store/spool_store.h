// The Store on a spool. Who does what:
//   any thread    looks at and changes what is in memory, under `mutex_`, and posts work
//   file threads  one upload's operations, one after another: pwrite, fdatasync, SHA-256 (Upload::operations)
//   commit thread renames, flushes of folders, rows: whatever must be true before somebody is told
//   sweeper       expiry, trash, figures of the disk
// Memory follows the manifest: a change shows in it when its transaction stands. Only what is being asked for (a job's
// or an upload's first sight, the disk it is charged for) shows before, so that limits hold.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

#include "commit_thread.h"
#include "src/gather/disk/part_file.h"
#include "src/gather/kept/store.h"
#include "src/gather/process/file_threads.h"
#include "src/gather/process/pulse.h"
#include "src/gather/recovery/recovery.h"

namespace skewscope::gather {

struct Upload {
  Upload(FileSystem& files, const std::string& path) : part(files, path) {}

  UploadRow row;
  uint64_t charged = 0;  // bytes counted against the job and the user
  std::deque<std::function<void()>> operations;
  bool busy = false;
  std::atomic<bool> unsynced = false;  // a writer has written since the last flush
  bool gone = false;                   // removed, refused or of a deleted job
  bool widens = false;                 // tells of ranks that nobody had told of; files of the job are there

  // Of its operations alone.
  PartFile part;
  bool entry_durable = false;       // in/ was flushed since the part was made
  uint64_t writer = 0;              // number of the one that may write; 0: none
  Refusal refused = Refusal::none;  // its last write
  std::function<void()> evicted;
  std::optional<Digest> checksum;
  Segment synced;  // the last flushed one, on its way into the manifest
  std::chrono::steady_clock::time_point last_sync{};
};

struct Job {
  JobRow row;
  bool stands = false;                          // its row is in the manifest
  std::map<int, std::map<int, FileRow>> files;  // capture -> rank
  std::map<int, ReportRow> reports;
  int failed_tries = 0;       // in a row, of the newest report's arrivals, for want of something; see most_tries
  bool partial = false;       // when the running report began
  uint64_t report_bytes = 0;  // of those that are there
  uint64_t room = 0;          // of the running report
  uint64_t aside_bytes = 0;   // in quarantine
  bool room_is_of_disk = false, waits_for_disk = false;
  std::map<int, std::map<int, int>> generations;  // capture -> generation -> files
  std::map<int, int> open_of_capture;             // open uploads, where there are any
  uint64_t bytes = 0;                             // of complete files
  uint64_t charged = 0;                           // and of open uploads, of reports, and of what is in quarantine
  std::map<std::pair<int, int>, std::string> remembered;  // capture, rank -> id of the upload that completed last
  int open_uploads = 0;
  int bodies = 0;   // uploads that have a writer
  int uploads = 0;  // with the complete ones that are still remembered
  int highest_rank = -1;
};

class SpoolStore : public Store {
 public:
  SpoolStore(StoreOptions options, std::unique_ptr<FileSystem> owned, FileSystem& files, Recovered recovered);
  ~SpoolStore() override;

  void create(const NewUpload& upload, Reply<UploadState> done) override;
  void state(const std::string& id, Reply<UploadState> done) override;
  void append(const std::string& id, uint64_t offset, std::optional<uint64_t> length, std::optional<Digest> checksum,
              std::function<void()> evicted, Reply<std::shared_ptr<Writer>> done) override;
  void promise_digest(const std::string& id, const Digest& digest, Reply<Done> done) override;
  void remove(const std::string& id, Reply<Done> done) override;
  std::optional<UploadMetadata> metadata_of(const std::string& id) const override;

  void put_job(const std::string& job, const JobSettings& settings, Reply<JobState> done) override;
  void end_job(const std::string& job, Reply<JobState> done) override;
  void report_again(const std::string& job, Reply<JobState> done) override;
  void raise_epoch(const std::string& job, Reply<JobState> done) override;
  void delete_job(const std::string& job, const std::string& who, Reply<Done> done) override;
  void delete_job_if(const std::string& job, const std::function<bool(const JobState&)>& holds,
                     Reply<Done> done) override;
  std::optional<JobState> job(const std::string& job) const override;
  std::optional<JobState> job_in_brief(const std::string& job) const override;
  uint32_t epoch_of(const std::string& job) const override;
  std::vector<JobState> jobs(const std::string& after, size_t limit) const override;
  Outcome<StoredFile> read(const std::string& job, int capture, int rank) const override;

  void begin_report(const std::string& job, Reply<ReportFolders> done) override;
  void end_report(const std::string& job, int generation, int exit_code, Reply<JobState> done) override;
  Outcome<StoredFile> read_report(const std::string& job, int generation, const std::string& name) const override;

  void on_job_change(std::function<void(const std::string& job)> hook) override;
  StoreFigures figures() const override;
  Aging aging() const override;
  bool healthy() const override;
  bool advances() override;
  void use(const GatherLimits& limits, const GatherRetention& retention) override;
  void drain(std::function<void()> done) override;

 private:
  friend class SpoolWriter;
  using UploadPointer = std::shared_ptr<Upload>;
  using Then = std::function<void(Refusal)>;
  // Outlives the store in writers that are still held: null once it has gone.
  struct Link {
    std::mutex mutex;
    SpoolStore* store = nullptr;
  };

  struct Asked {
    uint64_t offset = 0;
    std::optional<uint64_t> length;
    std::optional<Digest> checksum;
    std::function<void()> evicted;
  };

  // An upload's operations (upload_calls.cc, writer_calls.cc). Each ends with next().
  void submit(const UploadPointer& upload, std::function<void()> operation);
  void next(const UploadPointer& upload);
  UploadPointer find(const std::string& id) const;
  Refusal usable(const UploadPointer& upload) const;
  Refusal still_wanted(const Upload& upload) const;
  bool is_known(const UploadMetadata& metadata) const;
  Refusal room_for(const UploadRow& row, bool of_new_job, uint64_t charged);
  void begin_part(const UploadPointer& upload, bool of_new_job, const Reply<UploadState>& done);
  void end_writer(const UploadPointer& upload, const Then& then);
  Refusal begin_writer(const UploadPointer& upload, const Asked& asked);
  Refusal tell_length(const UploadPointer& upload, std::optional<uint64_t> length);
  void write(const UploadPointer& upload, uint64_t writer, std::string_view bytes, const Reply<Done>& done);
  Refusal append_bytes(Upload& upload, std::string_view bytes);
  void finish(const UploadPointer& upload, uint64_t writer, bool vouched, const Reply<UploadState>& done,
              std::shared_ptr<void> held);
  void release(const UploadPointer& upload, uint64_t writer);
  void make_durable(const UploadPointer& upload, const Then& then, bool last = false);
  Refusal sync_part(Upload& upload);
  void end_body(Upload& upload);
  void abandon_writer(Upload& upload);
  void forget_upload(const UploadPointer& upload);
  void drop_upload(const UploadPointer& upload, const Then& then);
  void remember(const UploadPointer& upload);
  void quarantine_upload(const UploadPointer& upload, const char* why, const Then& then);
  Refusal set_aside(const std::string& path, const Upload& upload, const std::string& suffix, FoldersToFlush& folders);
  void expire(const UploadPointer& upload);
  UploadState state_of(const Upload& upload) const;
  Time expires(const UploadRow& row) const;

  // A whole file (file_commit.cc).
  struct Arrival;
  using ArrivalPointer = std::shared_ptr<Arrival>;
  void commit_file(const UploadPointer& upload, const Reply<UploadState>& done);
  void announce_replacement(const ArrivalPointer& arrival);
  void post_arrival(const ArrivalPointer& arrival);
  Refusal place(Arrival& arrival, FoldersToFlush& folders);
  Refusal move_in(Arrival& arrival, FoldersToFlush& folders);
  void put_back(const Arrival& arrival);
  void displace(Arrival& arrival);
  void record(const Arrival& arrival, Manifest& manifest) const;
  void settle(const ArrivalPointer& arrival, Refusal refusal);
  void enter_file(const Arrival& arrival);
  void complete_upload(const Arrival& arrival);
  int ensure_folder(const std::string& path, FoldersToFlush& folders);

  // Jobs and reports. With `mutex_` held where the name ends in _held.
  Refusal admit_held(const NewUpload& asked, const FileRow*& same) const;
  Refusal enter_held(const UploadPointer& upload, bool& of_new_job);
  void close_held(Upload& upload);
  Job& job_held(const std::string& name, uint32_t owner_uid, bool& made);
  uint32_t next_epoch_held(const std::string& name) const;
  JobState state_held(const Job& job) const;
  JobState brief_state_held(const Job& job) const;
  JobCounts count_jobs_held() const;
  const JobCounts& job_counts_held() const;
  const Job* standing_held(const std::string& job) const;
  static int expected_of(const Job& job, const JobRow& row);
  static int captures_of(const Job& job, const JobRow& row);
  static bool expects_other_files(const Job& job, const JobRow& row);
  static bool is_mixed(const Job& job);
  static std::string owner_of(const std::string& job, uint32_t uid);
  bool has_its_share_held(const UploadRow& row, uint64_t charged) const;
  Refusal charge_held(const std::string& job, uint32_t uid, uint64_t& charged, uint64_t wanted);
  const FileRow* file_held(const std::string& job, int capture, int rank) const;
  JobRow job_row(const std::string& job) const;
  void change_job(const std::string& job, bool make, const std::function<void(JobRow&)>& change, Reply<JobState> done,
                  bool reports_again = false, uint32_t sender_uid = 0);
  void delete_job_of(const std::string& name, const std::string& who, const std::function<bool(const JobState&)>& holds,
                     Reply<Done> done);
  void trash_job(const std::string& name, const std::string& who, const std::vector<UploadPointer>& uploads,
                 const Reply<Done>& done);
  std::string contents_of(const std::string& job) const;
  Refusal move_to_trash(const std::string& path, const std::string& to, FoldersToFlush& folders);
  Refusal to_trash(const std::string& path, FoldersToFlush& folders);
  void post_report(const std::string& job, const ReportRow& row, bool swap, const Reply<JobState>& done);
  Refusal flush_report(const std::string& folder, int depth, uint64_t& bytes);
  // What a report may take of the disk (report_room.cc).
  Refusal take_room_held(Job& job);
  void give_room_back_held(Job& job);
  void charge_reports_held(Job& job, int64_t bytes);
  Refusal discard_unfinished(const std::string& job, int generation, FoldersToFlush& folders);
  void discard_reports(const std::string& job);
  static void count_tries(Job& job);
  static bool is_to_be_tried_again(const Job& job);

  // Failure, time, disk (spool_store.cc, sweep.cc).
  void fail(const std::string& why);
  Refusal refusal_of(int error, const std::string& what);  // fails unless it is a full disk
  Refusal closed() const;
  Time now() const;
  std::chrono::seconds running() const;
  Aging aging_held() const;
  bool look_at_clocks();
  void keep_clocks();
  void changed(const std::string& job);
  void count(uint64_t StoreFigures::*figure);
  void on_file_thread(const std::string& id, std::function<void()> task);
  void post(Change change);
  void landed();
  template <class T>
  void answer(Reply<T> done, Outcome<T> outcome) {  // on a thread of the store
    on_file_thread("", [done = std::move(done), outcome = std::move(outcome)] { done(outcome); });
  }
  void sweep();
  void forget_the_future();
  void charge_quarantine(const std::string& name, Job& job);
  void charge_aside_held(Job& job, int64_t bytes);
  std::string owner_of_aside(const std::string& folder) const;
  void look_at_disk();
  void refill_ballast();
  bool has_ballast();
  bool free_ballast();
  void back_up();
  struct SetAside;
  void sweep_quarantine();
  std::vector<SetAside> list_quarantine();
  void delete_from_quarantine(std::vector<SetAside> doomed);
  bool is_needed_held(const std::string& name) const;
  GatherLimits limits() const;
  GatherRetention retention() const;
  void empty_trash();
  bool is_kept_in_trash(const std::string& name);
  void remove_tree(const std::string& path, bool folder, int& left);
  Time end_of(const UploadRow& row) const;
  bool has_ended(const UploadRow& row, const Aging& aging) const;
  void sweep_uploads();
  void make_old_bytes_durable(const UploadPointer& upload);
  uint64_t reserved_bytes(const DiskSpace& space) const;
  double share_in_use(const DiskSpace& space) const;

  StoreOptions options_;
  mutable std::mutex settings_mutex_;  // of limits and retention in options_, which use() exchanges
  std::unique_ptr<FileSystem> owned_files_;
  FileSystem& files_;
  std::shared_ptr<Link> link_;

  mutable std::mutex mutex_;
  std::map<std::string, Job> jobs_;
  std::unordered_map<std::string, UploadPointer> uploads_;
  std::unordered_map<uint32_t, uint64_t> charged_of_user_;
  std::unordered_map<std::string, uint64_t> open_of_owner_;  // charged for open uploads: disk that is reserved
  std::map<std::string, uint32_t> next_epochs_;              // of names whose job was deleted; "": of every name
  std::function<void(const std::string&)> hook_;
  StoreFigures figures_;
  DiskSpace space_;
  uint64_t rooms_ = 0;            // of the reports that run, in bytes
  uint64_t writers_ = 0;          // numbers given
  Aging aging_;                   // with mutex_
  mutable JobCounts job_counts_;  // as counted then; with mutex_
  mutable std::chrono::steady_clock::time_point jobs_counted_at_{};
  mutable std::chrono::steady_clock::duration counting_took_{};
  std::optional<std::chrono::seconds> clocks_kept_;  // running() when they last were, by this process
  Time last_backup_{}, last_look_at_quarantine_{}, last_wall_{};
  Pulse sweeping_;

  std::set<std::string> folders_made_;  // of the commit thread
  std::atomic<bool> failed_ = false, draining_ = false, ballast_ = false;
  std::mutex ballast_mutex_;
  std::atomic<int> finishing_ = 0;  // uploads being flushed to be committed next
  std::atomic<int> in_flight_ = 0;  // tasks and changes posted and not done
  std::condition_variable sweep_wanted_, all_landed_;
  bool closing_ = false;
  std::unique_ptr<CommitThread> commits_;
  std::unique_ptr<FileThreads> file_threads_;
  std::thread sweeper_;
};

}  // namespace skewscope::gather
