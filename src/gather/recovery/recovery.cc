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

std::string Recovery::beginning_of(const std::string& path) {
  constexpr size_t kBeginning = 64;
  int file = -1;
  if (files_.open(path, false, file) != 0) return "";
  std::string text(kBeginning, '\0');
  size_t got = 0;
  const int error = files_.read(file, text.data(), text.size(), 0, got);
  files_.close(file);
  text.resize(error == 0 ? got : 0);
  return text;
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
    if (const auto restored = restored_jobs_.find(name); restored != restored_jobs_.end())
      row.owner_uid = restored->second;
    // The epoch is that of all runs of the name. Tokens of a job whose epoch is not known are refused: whoever is
    // entitled gets another.
    const std::string first(name_of_run(name));
    const bool is_known = std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& job) {
      return job.first != name && name_of_run(job.first) == first;
    });
    row.epoch = std::max({is_known ? 0 : epoch_of_now(), out_.next_epochs[""], out_.next_epochs[first]});
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
      if (of_job) trash(part_path(upload->second));
      upload = of_job ? uploads_.erase(upload) : std::next(upload);
    }
    for (auto row = rows_.begin(); row != rows_.end();) {
      row = std::get<0>(row->first) == name ? rows_.erase(row) : std::next(row);
    }
    reports_.erase(name);
    dirty_.insert({"jobs", "quarantine", "in", "trash"});
    const uint32_t epoch = job->second.epoch;
    job = jobs_.erase(job);
    const std::string first(name_of_run(name));
    const auto is_run = [&](const auto& other) { return name_of_run(other.first) == first; };
    const bool last = std::none_of(jobs_.begin(), jobs_.end(), is_run);
    uint32_t& next_epoch = out_.next_epochs[first];
    next_epoch = std::max(next_epoch, epoch + (last ? 1 : 0));
    change([name, next_epoch, at = options_.now](Manifest& manifest) { manifest.remove_job(name, next_epoch, at); });
  }
}

void Recovery::write() {
  if (!options_.repair) return;
  if (!changes_.empty()) write_rows();
  for (const auto& [job, owner] : restored_jobs_) {
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
