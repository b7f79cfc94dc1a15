// Jobs: what is known of them, their settings, their end, their removal.
#include <algorithm>
#include <cerrno>

#include "spool_store.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {
namespace {

constexpr size_t kMostMissingRanks = 1000, kMostMissingCaptures = 32;

const std::map<int, FileRow>& files_of(const Job& job, int capture) {
  static const std::map<int, FileRow> none;
  const auto found = job.files.find(capture);
  return found == job.files.end() ? none : found->second;
}

int64_t files_arrived(const Job& job) {
  int64_t files = 0;
  for (const auto& [capture, of_capture] : job.files) files += static_cast<int64_t>(of_capture.size());
  return files;
}

// The first of them. No rank of `files` is as large as `expected`.
std::vector<int> missing_of(const std::map<int, FileRow>& files, int expected) {
  std::vector<int> out;
  if (files.size() >= static_cast<size_t>(expected)) return out;
  auto file = files.begin();
  for (int rank = 0; rank < expected && out.size() < kMostMissingRanks; ++rank) {
    const bool there = file != files.end() && file->first == rank;
    there ? static_cast<void>(++file) : out.push_back(rank);
  }
  return out;
}

void tell_missing(const Job& job, JobState& state) {
  std::set<int> captures, ranks;
  for (const auto& [capture, files] : job.files) captures.insert(capture);
  for (const auto& [capture, uploads] : job.open_of_capture) captures.insert(capture);
  if (captures.empty()) captures.insert(0);
  size_t room = kMostMissingRanks;
  for (const int capture : captures) {
    MissingRanks missing{capture, missing_of(files_of(job, capture), state.expected)};
    if (missing.ranks.empty()) continue;
    ranks.insert(missing.ranks.begin(), missing.ranks.end());
    missing.ranks.resize(std::min(missing.ranks.size(), room));
    room -= missing.ranks.size();
    state.missing.push_back(std::move(missing));
    if (state.missing.size() == kMostMissingCaptures) break;
  }
  for (const int rank : ranks) {
    if (state.missing_ranks.size() < kMostMissingRanks) state.missing_ranks.push_back(rank);
  }
}

// With a file or an open upload.
size_t captures_begun(const Job& job) {
  const auto has_no_file = [&](const auto& open) { return job.files.count(open.first) == 0; };
  return job.files.size() +
         static_cast<size_t>(std::count_if(job.open_of_capture.begin(), job.open_of_capture.end(), has_no_file));
}

void tell_reports(const Job& job, bool again, JobState& state) {
  if (job.row.arrivals > 0) state.report = ReportState::waiting;
  const uint64_t newest = job.reports.empty() ? 0 : job.reports.rbegin()->second.arrivals;
  for (const auto& [generation, report] : job.reports) {
    const bool counts = !again || report.state != ReportState::failed || report.arrivals != newest;
    state.report = counts ? report.state : ReportState::waiting;
    if (counts) state.reported_arrivals = std::max(state.reported_arrivals, report.arrivals);
    if (report.state != ReportState::running) state.report_exit_code = report.exit_code;
    const bool readable = report.state == ReportState::complete || report.state == ReportState::partial;
    if (readable) state.report_generation = generation;
  }
  for (const auto& [generation, report] : job.reports) {
    if (report.state == ReportState::running) continue;
    state.reported_at = report.ended;
    state.report_took = std::max(report.ended - report.started, std::chrono::seconds(0));
  }
  if (again) state.failed_at = job.reports.rbegin()->second.ended;
}

}  // namespace

// As told by put_job and by uploads, or as many as the ranks that came need: the largest.
int SpoolStore::expected_of(const Job& job, const JobRow& row) {
  const int told = std::max(row.settings.world_size.value_or(0), row.most_told);
  return told == 0 ? 0 : std::max(told, job.highest_rank + 1);
}

int SpoolStore::captures_of(const Job& job, const JobRow& row) {
  return std::max({1, row.settings.captures.value_or(1), static_cast<int>(captures_begun(job))});
}

// Is another set of files expected by `row` than until now, though some have come: a report of these may say otherwise.
bool SpoolStore::expects_other_files(const Job& job, const JobRow& row) {
  const auto whole = [&](const JobRow& by) { return int64_t{expected_of(job, by)} * captures_of(job, by); };
  return job.row.arrivals > 0 && whole(row) != whole(job.row);
}

// A capture of which some files took the place of others, and some have not.
bool SpoolStore::is_mixed(const Job& job) {
  return std::any_of(job.generations.begin(), job.generations.end(),
                     [](const auto& capture) { return capture.second.size() > 1; });
}

JobState SpoolStore::state_held(const Job& job) const {
  JobState out = brief_state_held(job);
  tell_missing(job, out);
  return out;
}

JobState SpoolStore::brief_state_held(const Job& job) const {
  JobState out;
  out.name = job.row.name;
  out.owner_uid = job.row.owner_uid;
  out.epoch = job.row.epoch;
  out.expected = expected_of(job, job.row);
  const int asked = job.row.settings.world_size.value_or(job.row.most_told);
  out.conflict = out.expected > 0 && (asked != out.expected || (job.row.least_told > 0 && job.row.least_told != asked));
  out.arrived = files_arrived(job);
  out.captures = captures_of(job, job.row);
  out.ended = job.row.ended;
  out.bytes = job.bytes;
  out.open_uploads = job.open_uploads;
  out.report_bytes = job.report_bytes;
  out.mixed = is_mixed(job);
  out.report_waits_for_disk = job.waits_for_disk;
  tell_reports(job, is_to_be_tried_again(job), out);
  if (out.report == ReportState::complete && (!is_whole(out) || out.mixed)) out.report = ReportState::partial;
  out.created = job.row.created;
  out.last_byte = job.bodies > 0 ? std::max(job.row.last_byte, now()) : job.row.last_byte;
  out.ended_at = job.row.ended_at;
  out.last_arrival = job.row.last_arrival;
  out.arrivals = job.row.arrivals;
  out.settings = job.row.settings;
  return out;
}

Job& SpoolStore::job_held(const std::string& name, uint32_t owner_uid, bool& made) {
  const auto [found, inserted] = jobs_.try_emplace(name);
  made = inserted;
  if (inserted) {
    JobRow& row = found->second.row;
    row.name = name;
    row.owner_uid = owner_uid;
    row.epoch = next_epoch_held(name);
    row.created = now();
  }
  return found->second;
}

uint32_t SpoolStore::next_epoch_held(const std::string& name) const {
  const auto of = [&](const std::string& key) {
    const auto next = next_epochs_.find(key);
    return next == next_epochs_.end() ? 0 : next->second;
  };
  return std::max(of(name), of(""));
}

uint32_t SpoolStore::epoch_of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(name);
  if (job == jobs_.end()) return next_epoch_held(name);
  return job->second.row.epoch + (job->second.row.deleting ? 1 : 0);
}

JobRow SpoolStore::job_row(const std::string& job) const {
  const std::lock_guard lock(mutex_);
  return jobs_.at(job).row;
}

const FileRow* SpoolStore::file_held(const std::string& job, int capture, int rank) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return nullptr;
  const auto files = found->second.files.find(capture);
  if (files == found->second.files.end()) return nullptr;
  const auto file = files->second.find(rank);
  return file == files->second.end() ? nullptr : &file->second;
}

// Where nobody told the owner, each job is its own.
std::string SpoolStore::owner_of(const std::string& job, uint32_t uid) {
  return uid == 0 ? job : "uid " + std::to_string(uid);
}

// Brings what an upload is charged with from `charged` to `wanted` bytes.
Refusal SpoolStore::charge_held(const std::string& job, uint32_t uid, uint64_t& charged, uint64_t wanted) {
  uint64_t& of_job = jobs_.at(job).charged;
  uint64_t& of_user = charged_of_user_[uid];
  const GatherLimits most = limits();
  const uint64_t of_owner = uid == 0 ? of_job : of_user;
  const bool over = of_job - charged + wanted > most.largest_job || of_owner - charged + wanted > most.largest_user;
  if (wanted > charged && over) return Refusal::quota;
  uint64_t& open = open_of_owner_[owner_of(job, uid)];
  open = open - charged + wanted;
  if (open == 0) open_of_owner_.erase(owner_of(job, uid));
  of_job = of_job - charged + wanted;
  of_user = of_user - charged + wanted;
  charged = wanted;
  return Refusal::none;
}

const Job* SpoolStore::standing_held(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() || found->second.row.deleting ? nullptr : &found->second;
}

std::optional<JobState> SpoolStore::job(const std::string& job) const {
  const std::lock_guard lock(mutex_);
  const Job* found = standing_held(job);
  return found == nullptr ? std::nullopt : std::optional(state_held(*found));
}

std::optional<JobState> SpoolStore::job_in_brief(const std::string& job) const {
  const std::lock_guard lock(mutex_);
  const Job* found = standing_held(job);
  return found == nullptr ? std::nullopt : std::optional(brief_state_held(*found));
}

std::vector<JobState> SpoolStore::jobs(const std::string& after, size_t limit) const {
  const std::lock_guard lock(mutex_);
  std::vector<JobState> out;
  for (auto job = jobs_.upper_bound(after); job != jobs_.end() && out.size() < limit; ++job) {
    if (!job->second.row.deleting) out.push_back(brief_state_held(job->second));
  }
  return out;
}

// Copies no names and no settings: it is asked at each scrape, under the lock.
JobCounts SpoolStore::count_jobs_held() const {
  JobCounts out;
  for (const auto& [name, job] : jobs_) {
    if (job.row.arrivals == 0 && job.open_uploads == 0) continue;
    const int64_t arrived = files_arrived(job),
                  expected = int64_t{expected_of(job, job.row)} * captures_of(job, job.row);
    const bool whole = expected > 0 && arrived >= expected;
    ++(whole ? out.complete : job.row.ended ? out.ended : out.receiving);
    out.files_expected += expected;
    out.files_arrived += arrived;
  }
  return out;
}

// Counted anew where that takes less than a twentieth of the time since it was last done, however often it is asked.
const JobCounts& SpoolStore::job_counts_held() const {
  const auto begin = std::chrono::steady_clock::now();
  if (begin - jobs_counted_at_ < 20 * counting_took_) return job_counts_;
  job_counts_ = count_jobs_held();
  jobs_counted_at_ = std::chrono::steady_clock::now();
  counting_took_ = jobs_counted_at_ - begin;
  return job_counts_;
}

Outcome<StoredFile> SpoolStore::read(const std::string& job, int capture, int rank) const {
  FileRow row;
  {
    const std::lock_guard lock(mutex_);
    const FileRow* file = file_held(job, capture, rank);
    if (file == nullptr || jobs_.at(job).row.deleting) return {Refusal::unknown, {}};
    row = *file;
  }
  StoredFile out;
  out.size = row.size;
  out.digest = row.digest;
  for (const char* suffix : {".json", ".json.gz", ".json.zst", ".digest"}) {
    if (row.suffix == suffix) out.suffix = suffix;
  }
  const int error = files_.open_for_reader(rank_path(job, capture, rank, row.suffix), out.fd);
  return error == 0 ? Outcome<StoredFile>{Refusal::none, out} : Outcome<StoredFile>{Refusal::unavailable, {}};
}

// One change of a job's row per transaction (Change::key), so that none is lost.
void SpoolStore::change_job(const std::string& name, bool make, const std::function<void(JobRow&)>& change,
                            Reply<JobState> done, bool reports_again, uint32_t sender_uid) {
  const Refusal refusal = closed();
  if (refusal != Refusal::none) return answer<JobState>(std::move(done), {refusal, {}});
  const Time at = now();
  const auto row = std::make_shared<JobRow>();
  const auto other_files = std::make_shared<bool>(false);
  Change of_row;
  of_row.key = name;
  of_row.prepare = [this, name, make, at, row, other_files, change, reports_again, sender_uid](FoldersToFlush&) {
    const std::lock_guard lock(mutex_);
    const auto job = jobs_.find(name);
    if (job == jobs_.end() && !make) return Refusal::unknown;
    if (job == jobs_.end() && share_in_use(space_) >= limits().soft_disk) return Refusal::no_space;
    if (job != jobs_.end() && job->second.row.deleting) return make ? Refusal::unavailable : Refusal::unknown;
    if (reports_again && job->second.row.arrivals == 0) return Refusal::unknown;
    if (job != jobs_.end()) {
      *row = job->second.row;
    } else {
      row->name = name;
      row->epoch = next_epoch_held(name);
      row->created = at;
      row->owner_uid = sender_uid;
    }
    change(*row);
    *other_files = reports_again || (job != jobs_.end() && expects_other_files(job->second, *row));
    return Refusal::none;
  };
  of_row.rows = [name, row, other_files](Manifest& manifest) {
    manifest.put(*row);
    if (*other_files) manifest.widened(name);
  };
  of_row.done = [this, name, at, row, other_files, change, done](Refusal why) {
    if (why != Refusal::none) return done({why, {}});
    JobState state;
    {
      const std::lock_guard lock(mutex_);
      bool made = false;
      Job& job = job_held(name, row->owner_uid, made);
      if (made) job.row.created = at;
      job.stands = true;
      const uint32_t owner = job.row.owner_uid;
      change(job.row);
      charged_of_user_[owner] -= job.report_bytes + job.aside_bytes;
      charged_of_user_[job.row.owner_uid] += job.report_bytes + job.aside_bytes;
      if (*other_files) ++job.row.arrivals;
      state = state_held(job);
    }
    done({Refusal::none, state});
    changed(name);
  };
  post(std::move(of_row));
}

void SpoolStore::put_job(const std::string& job, const JobSettings& settings, Reply<JobState> done) {
  const auto merge = [settings](JobRow& row) {
    JobSettings& kept = row.settings;
    if (settings.world_size) kept.world_size = settings.world_size;
    if (settings.captures) kept.captures = settings.captures;
    if (settings.deadline) kept.deadline = settings.deadline;
    if (settings.retention) kept.retention = settings.retention;
    if (settings.owner_uid) kept.owner_uid = row.owner_uid = *settings.owner_uid;
    if (!settings.nodes.empty()) kept.nodes = settings.nodes;
  };
  change_job(job, true, merge, std::move(done), false, settings.sender_uid);
}

void SpoolStore::end_job(const std::string& job, Reply<JobState> done) {
  const Time at = now();
  const auto end = [at](JobRow& row) {
    if (!row.ended) row.ended_at = at;
    row.ended = true;
  };
  change_job(job, false, end, std::move(done));
}

void SpoolStore::report_again(const std::string& job, Reply<JobState> done) {
  change_job(
      job, false, [](JobRow&) {}, std::move(done), true);
}

void SpoolStore::raise_epoch(const std::string& job, Reply<JobState> done) {
  change_job(
      job, false, [](JobRow& row) { ++row.epoch; }, std::move(done));
}

void SpoolStore::delete_job(const std::string& name, const std::string& who, Reply<Done> done) {
  delete_job_of(
      name, who, [](const JobState&) { return true; }, std::move(done));
}

void SpoolStore::delete_job_if(const std::string& name, const std::function<bool(const JobState&)>& holds,
                               Reply<Done> done) {
  delete_job_of(name, "retention", holds, [this, done = std::move(done)](const Outcome<Done>& outcome) {
    if (outcome.refusal == Refusal::none) count(&StoreFigures::jobs_deleted);
    done(outcome);
  });
}

// From here on nothing comes into the job; its uploads' last operations end before it goes.
void SpoolStore::delete_job_of(const std::string& name, const std::string& who,
                               const std::function<bool(const JobState&)>& holds, Reply<Done> done) {
  Refusal refusal = closed();
  std::vector<UploadPointer> uploads;
  if (refusal == Refusal::none) {
    const std::lock_guard lock(mutex_);
    const auto job = jobs_.find(name);
    if (job == jobs_.end() || job->second.row.deleting || !holds(brief_state_held(job->second))) {
      refusal = Refusal::unknown;
    } else {
      job->second.row.deleting = true;
      for (const auto& [id, upload] : uploads_) {
        if (upload->row.asked.metadata.job == name) uploads.push_back(upload);
      }
    }
  }
  if (refusal != Refusal::none) return answer<Done>(std::move(done), {refusal, {}});
  const auto last = std::make_shared<int>(0);
  const std::shared_ptr<void> gate(last.get(), [this, last, name, who, uploads, done = std::move(done)](void*) {
    trash_job(name, who, uploads, done);
  });
  for (const UploadPointer& upload : uploads) {
    submit(upload, [this, upload, gate] {
      abandon_writer(*upload);
      next(upload);
    });
  }
}

void SpoolStore::trash_job(const std::string& name, const std::string& who, const std::vector<UploadPointer>& uploads,
                           const Reply<Done>& done) {
  Change mark;
  mark.rows = [this, name](Manifest& manifest) { manifest.put(job_row(name)); };
  mark.key = name;
  mark.done = [this, name](Refusal refusal) {
    if (refusal == Refusal::none) return;
    const std::lock_guard lock(mutex_);
    jobs_.at(name).row.deleting = false;
  };
  post(std::move(mark));
  Change move;
  move.key = name;
  move.prepare = [this, name, uploads](FoldersToFlush& folders) {
    {
      const std::lock_guard lock(mutex_);
      if (!jobs_.at(name).row.deleting) return Refusal::no_space;
    }
    Refusal refusal = move_to_trash(job_folder(name), trash_path(name, random_hex(8)), folders);
    if (refusal == Refusal::none) refusal = to_trash(quarantine_folder(name), folders);
    for (const UploadPointer& upload : uploads) {
      if (refusal == Refusal::none) refusal = to_trash(part_path(upload->row.id), folders);
    }
    for (const std::string& folder : {job_folder(name), quarantine_folder(name)}) {
      folders_made_.erase(folders_made_.lower_bound(folder), folders_made_.lower_bound(folder + "0"));
    }
    return refusal;
  };
  move.rows = [this, name, who, at = now()](Manifest& manifest) {
    manifest.audit(at, who, "deleted job " + name + ": " + contents_of(name));
    manifest.remove_job(name, at);
  };
  move.done = [this, name, uploads, done](Refusal refusal) {
    if (refusal == Refusal::none) {
      for (const UploadPointer& upload : uploads) forget_upload(upload);
      const std::lock_guard lock(mutex_);
      const auto job = jobs_.find(name);
      for (const auto& [capture, files] : job->second.files) {
        figures_.files -= files.size();
        for (const auto& [rank, file] : files) charged_of_user_[file.uid] -= file.size;
      }
      charged_of_user_[job->second.row.owner_uid] -= job->second.report_bytes + job->second.aside_bytes;
      rooms_ -= job->second.room;
      next_epochs_[name] = job->second.row.epoch + 1;
      jobs_.erase(job);
    }
    done({refusal, {}});
    changed(name);
  };
  post(std::move(move));
}

std::string SpoolStore::contents_of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const JobState job = brief_state_held(jobs_.at(name));
  return "files: " + std::to_string(job.arrived) + ", bytes: " + std::to_string(job.bytes);
}

// What is in trash/ is nobody's: the sweeper unlinks it at leisure, jobs after a while (restore_job()).
Refusal SpoolStore::to_trash(const std::string& path, FoldersToFlush& folders) {
  return move_to_trash(path, "trash/" + random_hex(8), folders);
}

Refusal SpoolStore::move_to_trash(const std::string& path, const std::string& to, FoldersToFlush& folders) {
  const int error = files_.rename(path, to, false);
  if (error == ENOENT) return Refusal::none;
  folders.insert("trash");
  folders.insert(path.substr(0, path.rfind('/')));
  return refusal_of(error, "cannot move " + path + " to trash");
}

}  // namespace skewscope::gather
