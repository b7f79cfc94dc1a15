#include "recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "certain_files.h"
#include "recovery_steps.h"
#include "skewscope/protocol/names.h"
#include "src/gather/disk/part_file.h"

namespace skewscope::gather {
namespace {

constexpr std::chrono::seconds kBeforeItsName{2};  // a file's row says when, a moment before it gets its name

}  // namespace

bool Recovery::begin() {
  if (!options_.repair && !exists(kManifestName) && !exists("jobs")) {
    out_.error = {ErrorKind::no_input, options_.spool + " is no spool of skewscope gather"};
    return false;
  }
  if (const int error = files_.lock(kLockName); error != 0) {
    out_.error = {ErrorKind::no_input, error == EWOULDBLOCK ? "another daemon uses the spool " + options_.spool
                                                            : "cannot lock the spool: " + std::string(strerror(error))};
    return false;
  }
  for (const auto& [folder, rank] : kFolders) {
    const int error = options_.repair ? files_.make_folder(folder) : 0;
    if (error != 0 && error != EEXIST) {
      out_.error = {ErrorKind::output, fmt::format("cannot make {}/{}: {}", options_.spool, folder, strerror(error))};
      return false;
    }
  }
  for (const FolderEntry& entry : entries_of("backup")) {
    if (options_.repair && entry.name.ends_with(".tmp")) files_.remove("backup/" + entry.name);  // cut short
  }
  take(open_or_restore(files_, options_));
  if (!out_.manifest || !options_.repair) return out_.manifest != nullptr;
  // What an earlier process made and this one can see may still be in the cache alone.
  for (const char* folder : {"", "in", "jobs"}) {
    if (const int error = files_.sync_folder(folder); error != 0) {
      out_.error = {ErrorKind::output, "cannot flush the spool: " + std::string(strerror(error))};
      out_.manifest.reset();
      return false;
    }
  }
  return true;
}

void Recovery::take(OpenedManifest opened) {
  for (std::string& sentence : opened.problems) problem(std::move(sentence));
  restored_ = opened.restored;
  out_.manifest = std::move(opened.manifest);
  out_.error = std::move(opened.error);
}

// Damage that the check at opening does not see may show only now.
bool Recovery::read_rows() {
  if (read_all()) return true;
  out_.error = {ErrorKind::no_input, "cannot read the manifest: " + out_.manifest->why()};
  if (!options_.repair || out_.manifest->status() != ManifestStatus::damaged) return false;
  problem("the manifest is damaged: " + out_.manifest->why());
  out_.manifest.reset();
  take(restore_manifest(files_, options_));
  return out_.manifest && read_all();
}

bool Recovery::read_all() {
  jobs_.clear();
  uploads_.clear();
  rows_.clear();
  reports_.clear();
  changes_.clear();
  Manifest& manifest = *out_.manifest;
  for (JobRow& row : manifest.jobs()) jobs_[row.name] = row;
  out_.next_epochs = manifest.next_epochs();
  for (UploadRow& row : manifest.uploads()) uploads_[row.id] = row;
  for (FileRow& row : manifest.files()) rows_[{row.job, row.capture, row.rank}] = row;
  for (ReportRow& row : manifest.reports()) reports_[row.job][row.generation] = row;
  if (restored_) {  // nobody knows how many ends of tokens the copy has missed, of jobs that were deleted since, too
    for (auto& [name, row] : jobs_) {
      row.epoch = std::max(row.epoch + 1, epoch_of_now());
      row.deleting = false;  // it may be another of its name by now
      change([row = row](Manifest& to) { to.put(row); });
    }
    uint32_t& least = out_.next_epochs[""];
    least = std::max(least + 1, epoch_of_now());
    change([epoch = least, now = options_.now](Manifest& to) { to.put_least_epoch(epoch, now); });
  }
  const uint64_t senseless = manifest.senseless_rows();
  out_.seen = manifest.seen();
  out_.doubts_clocks = restored_ || manifest.senseless_rows() > senseless;
  if (manifest.senseless_rows() > 0) {
    problem(fmt::format("{} rows of the manifest make no sense and are passed over", manifest.senseless_rows()));
  }
  return manifest.status() == ManifestStatus::fine;
}

bool Recovery::exists(const std::string& path, uint64_t* size) {
  PathInfo info;
  const int error = files_.info(path, info);
  if (error == EIO) throw CannotTell{path, error};  // unless is_unknown() was asked: it may be what is looked for
  if (error == 0 && size != nullptr) *size = info.size;
  return error == 0;
}

// Nothing can be learned of it, so its row stays.
bool Recovery::is_unknown(const std::string& path) {
  PathInfo info;
  if (files_.info(path, info) != EIO) return false;
  problem(path + " cannot be looked at: " + strerror(EIO));
  return true;
}

// A folder that is damaged hides what no row knows; where that may be a job's, the start fails.
std::vector<FolderEntry> Recovery::entries_of(const std::string& folder) {
  std::vector<FolderEntry> entries;
  const int error = files_.list(folder, entries);
  if (error != 0 && !is_missing(error) && restored_) throw CannotTell{folder, error};
  return entries;
}

std::optional<Digest> Recovery::digest_of_file(const std::string& path, uint64_t size) {
  int file = -1;
  const int opened = files_.open(path, false, file);
  if (opened == EIO && !options_.verify) throw CannotTell{path, opened};
  if (opened != 0) return std::nullopt;
  Sha256 digest;
  const int error = digest_of(files_, file, 0, size, digest);
  files_.close(file);
  return error == 0 ? std::optional(digest.digest()) : std::nullopt;
}

void Recovery::set_aside(const std::string& path, const std::string& folder, const std::string& name) {
  ++out_.quarantined;
  settled_.insert(path);
  if (!options_.repair) return;
  files_.make_folder(folder);
  if (files_.rename(path, folder + "/" + name, true) == 0) return;
  problem("cannot move " + path + " to " + folder);
}

void Recovery::trash(const std::string& path) {
  if (options_.repair) files_.rename(path, "trash/" + random_hex(8), false);
}

// Beyond what any epoch has been raised to one by one.
uint32_t Recovery::epoch_of_now() const { return static_cast<uint32_t>(options_.now.time_since_epoch().count()); }

JobRow& Recovery::job_of(const std::string& name) {
  const auto [found, made] = jobs_.try_emplace(name);
  if (made) {
    JobRow& row = found->second;
    row.name = name;
    row.created = options_.now;
    // Tokens of a job whose epoch is not known are refused: whoever is entitled gets another.
    row.epoch = std::max({epoch_of_now(), out_.next_epochs[""], out_.next_epochs[name]});
    change([row](Manifest& manifest) { manifest.add_job(row); });
  }
  return found->second;
}

void Recovery::bury_deleted_jobs() {
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    if (!job->second.deleting) {
      ++job;
      continue;
    }
    const std::string name = job->first;
    to_do("job " + name + " was being deleted");
    trash(job_folder(name));
    trash(quarantine_folder(name));
    for (auto upload = uploads_.begin(); upload != uploads_.end();) {
      const bool of_job = upload->second.asked.metadata.job == name;
      if (of_job) trash(part_path(upload->first));
      upload = of_job ? uploads_.erase(upload) : std::next(upload);
    }
    for (auto row = rows_.begin(); row != rows_.end();) {
      row = std::get<0>(row->first) == name ? rows_.erase(row) : std::next(row);
    }
    reports_.erase(name);
    dirty_.insert({"jobs", "quarantine", "in", "trash"});
    change([name, at = options_.now](Manifest& manifest) { manifest.remove_job(name, at); });
    out_.next_epochs[name] = job->second.epoch + 1;
    job = jobs_.erase(job);
  }
}

// The file of the rank may be the one before, the one after, or, for a moment, none: then the one before is in
// quarantine under the upload's id.
void Recovery::settle_replacements() {
  for (auto& [id, upload] : uploads_) {
    if (upload.stage != UploadStage::replacing) continue;
    const UploadMetadata& metadata = upload.asked.metadata;
    to_do("upload " + id + " was replacing a file");
    upload.stage = UploadStage::open;
    change([row = upload](Manifest& manifest) { manifest.put(row); });
    const auto before = rows_.find({metadata.job, metadata.capture, metadata.rank});
    if (before == rows_.end()) continue;
    const FileRow& row = before->second;
    const std::string path = rank_path(row.job, row.capture, row.rank, row.suffix);
    const std::string aside = quarantine_folder(row.job) + "/" + id + row.suffix;
    uint64_t size = 0;
    const bool in_place = exists(path, &size) && size == row.size && digest_of_file(path, size) == row.digest;
    if (in_place) continue;
    for (const std::string_view suffix : kSuffixes) {
      const std::string after = rank_path(row.job, row.capture, row.rank, std::string(suffix));
      if (!exists(after, &size) || digest_of_file(after, size) != upload.digest) continue;
      rows_.erase(before);  // the file that took its place is then one without a row, and this upload's
      break;
    }
    const bool moved_on = rows_.count({metadata.job, metadata.capture, metadata.rank}) == 0;
    // What is there now came after the copy that the manifest was restored from.
    const bool older = restored_ && has_file(metadata.job, metadata.capture, metadata.rank);
    if (!moved_on && !older && options_.repair) put_back(aside, path);
  }
}

// It is not lost: what stands in its way, or none, does not make it so.
void Recovery::put_back(const std::string& aside, const std::string& path) {
  int error = files_.rename(aside, path, false);
  if (error == EEXIST) {
    set_aside(path, aside.substr(0, aside.rfind('/')), path.substr(path.rfind('/') + 1) + ".damaged");
    settled_.erase(path);
    error = files_.rename(aside, path, false);
  }
  if (error == 0) error = files_.sync_folder(path.substr(0, path.rfind('/')));
  if (error != 0 && error != ENOENT) throw CannotTell{aside, error};
}

bool Recovery::has_file(const std::string& job, int capture, int rank) {
  return std::any_of(std::begin(kSuffixes), std::end(kSuffixes), [&](std::string_view suffix) {
    return exists(rank_path(job, capture, rank, std::string(suffix)));
  });
}

void Recovery::check_files() {
  for (auto found = rows_.begin(); found != rows_.end();) {
    const FileRow row = found->second;
    const std::string path = rank_path(row.job, row.capture, row.rank, row.suffix);
    job_of(row.job);
    if (is_unknown(path)) {
      ++found;
      continue;
    }
    uint64_t size = 0;
    const bool there = exists(path, &size);
    if (restored_ && was_replaced(found->second)) {
      found = there ? std::next(found) : rows_.erase(found);  // another suffix: one without a row now
      continue;
    }
    if (there && size == row.size && (!options_.verify || digest_of_file(path, size) == row.digest)) {
      ++found;
      continue;
    }
    ++out_.lost_files;
    problem(path + (there ? " is not the file that was received" : " is lost"));
    if (there)
      set_aside(path, quarantine_folder(row.job),
                fmt::format("c{:04}-r{:05}{}.damaged", row.capture, row.rank, row.suffix));
    const Time now = options_.now;
    change([row, path, now](Manifest& manifest) {
      manifest.remove_file(row.job, row.capture, row.rank);
      manifest.audit(now, "recovery", "lost " + path + ", was " + hex(row.digest));
    });
    found = rows_.erase(found);
  }
}

// Since the copy was made that the manifest was restored from. Damage changes neither a file's size nor its times.
bool Recovery::was_replaced(FileRow& row) {
  const std::string path = rank_path(row.job, row.capture, row.rank, row.suffix);
  PathInfo info;
  if (files_.info(path, info) != 0) return has_file(row.job, row.capture, row.rank);
  if (info.size == row.size && info.changed <= row.committed_at + kBeforeItsName) return false;
  const std::optional<Digest> digest = digest_of_file(path, info.size);
  if (!digest || *digest == row.digest) return false;
  problem(path + " is a newer file than the manifest knows");
  row.size = info.size;
  row.digest = *digest;
  ++row.generation;
  row.committed_at = options_.now;
  row.recovered = true;
  take_in(row);
  return true;
}

// Its row, and its job's report is made again.
void Recovery::take_in(const FileRow& row) {
  dirty_.insert(capture_folder(row.job, row.capture));
  JobRow& job = job_of(row.job);
  ++job.arrivals;
  job.last_arrival = job.last_byte = options_.now;
  change([row](Manifest& manifest) {
    manifest.put(row);
    manifest.arrived(row.job, row.committed_at);
  });
}

void Recovery::find_strangers() {
  for (const FolderEntry& job : entries_of("jobs")) {
    if (!is_name(job.name)) continue;
    if (exists(job_folder(job.name) + "/" + kRestoredName)) restored_jobs_.insert(job.name);
    for (const FolderEntry& capture : entries_of(ranks_folder(job.name))) {
      const std::optional<int> number = capture_of(capture.name);
      if (!number) continue;
      for (const FolderEntry& entry : entries_of(capture_folder(job.name, *number))) {
        const std::optional<RankName> name = rank_of(entry.name);
        const std::string path = capture_folder(job.name, *number) + "/" + entry.name;
        const auto row = name ? rows_.find({job.name, *number, name->rank}) : rows_.end();
        if (settled_.count(path) > 0 || (row != rows_.end() && row->second.suffix == name->suffix)) continue;
        if (name && row == rows_.end()) {
          adopt_or_set_aside(job.name, *number, *name, path);
        } else {
          problem(path + " has no row");
          set_aside(path, quarantine_folder(job.name), capture.name + "-" + entry.name);
        }
      }
    }
  }
}

// The upload whose file this is, as far as can be told: it was moved here, so its part is gone from in/, and length and
// digest were seen to be right before.
UploadRow* Recovery::upload_of(const FileRow& file) {
  for (auto& [id, upload] : uploads_) {
    const UploadMetadata& metadata = upload.asked.metadata;
    const bool of_rank = metadata.job == file.job && metadata.capture == file.capture && metadata.rank == file.rank;
    const bool same = upload.asked.length.value_or(file.size) == file.size && upload.durable <= file.size &&
                      metadata.sha256.value_or(file.digest) == file.digest;
    uint64_t part = 0;
    const bool moved = !exists(part_path(id), &part) || part == file.size;
    if (is_open(upload) && of_rank && same && moved) return &upload;
  }
  return nullptr;
}

void Recovery::adopt_or_set_aside(const std::string& job, int capture, const RankName& name, const std::string& path) {
  FileRow row{job, capture, name.rank, 1, 0, {}, name.suffix, 0, "", "", options_.now, restored_};
  const bool there = exists(path, &row.size);
  const std::optional<Digest> digest = there ? digest_of_file(path, row.size) : std::nullopt;
  row.digest = digest.value_or(Digest{});
  UploadRow* upload = digest ? upload_of(row) : nullptr;
  upload != nullptr ? to_do(path + " gets its row") : problem(path + " has no row");
  const bool taken_up = restored_ || restored_jobs_.count(job) > 0;
  if (upload == nullptr && !(taken_up && digest)) {
    return set_aside(path, quarantine_folder(job), fmt::format("c{:04}-r{:05}{}", capture, name.rank, name.suffix));
  }
  if (upload != nullptr) {
    row.uid = upload->asked.uid;
    row.client = upload->asked.client;
    row.filename = upload->asked.metadata.filename;
    upload->stage = UploadStage::complete;
    upload->digest = row.digest;
    upload->durable = row.size;
    upload->asked.length = row.size;
    change([done = *upload](Manifest& manifest) { manifest.put(done); });
  }
  dirty_.insert({capture_folder(job, capture), ranks_folder(job), job_folder(job)});
  rows_[{job, capture, name.rank}] = row;
  take_in(row);
}

void Recovery::write() {
  if (!options_.repair) return;
  if (!changes_.empty()) write_rows();
  for (const std::string& job : restored_jobs_) {
    if (out_.manifest) files_.remove(job_folder(job) + "/" + kRestoredName);
  }
  if (!restored_ || !out_.manifest) return;
  if (const int error = end_restoring(files_); error != 0) {
    out_.error = {ErrorKind::output,
                  fmt::format("cannot remove {}/{}: {}", options_.spool, kRestoringName, strerror(error))};
    out_.manifest.reset();
  }
}

void Recovery::write_rows() {
  for (const std::string& folder : dirty_) {
    const int error = files_.sync_folder(folder);
    if (error == 0 || error == ENOENT) continue;
    out_.error = {ErrorKind::output, "cannot flush " + folder + ": " + strerror(error)};
    out_.manifest.reset();
    return;
  }
  const auto commit = [&] {
    return out_.manifest->transaction([&] {
      for (const auto& row : changes_) row(*out_.manifest);
    });
  };
  ManifestStatus status = commit();
  if (status == ManifestStatus::full && files_.remove(kBallastName) == 0) status = commit();
  if (status == ManifestStatus::fine) return;
  out_.error = {ErrorKind::output, "cannot write the manifest: " + out_.manifest->why()};
  out_.manifest.reset();
}

Recovered Recovery::run() {
  const auto start = std::chrono::steady_clock::now();
  if (begin() && read_rows()) {
    bury_deleted_jobs();
    settle_replacements();
    check_files();
    find_strangers();
    check_uploads();
    find_stray_parts();
    check_reports();
    write();
  } else {
    out_.manifest.reset();
  }
  for (auto& [name, row] : jobs_) out_.jobs.push_back(std::move(row));
  for (auto& [id, row] : uploads_) out_.uploads.push_back(std::move(row));
  for (auto& [key, row] : rows_) out_.files.push_back(std::move(row));
  for (auto& [job, rows] : reports_) {
    for (auto& [generation, row] : rows) out_.reports.push_back(std::move(row));
  }
  out_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return std::move(out_);
}

Recovered recover(FileSystem& files, const RecoveryOptions& options) {
  CertainFiles certain(files);
  try {
    return Recovery(certain, options).run();
  } catch (const CannotTell& failed) {
    Recovered out;
    out.error = {ErrorKind::output, fmt::format("cannot look at the spool {}{}: {}", options.spool,
                                                failed.path.empty() ? "" : "/" + failed.path, strerror(failed.error))};
    return out;
  }
}

}  // namespace skewscope::gather
