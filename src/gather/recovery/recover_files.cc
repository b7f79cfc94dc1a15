// What recovery does with files: those that were being exchanged, those that rows know, and those that no row knows.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "certain_files.h"
#include "recovery_steps.h"
#include "skewscope/protocol/names.h"

namespace skewscope::gather {
namespace {

constexpr std::chrono::seconds kBeforeItsName{2};  // a file's row says when, a moment before it gets its name

}  // namespace

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
    for (const std::string& after : files_of(row.job, row.capture, row.rank)) {
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

// It is not lost: what is in its way, or none, does not make it so.
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

// Of whatever suffix.
std::vector<std::string> Recovery::files_of(const std::string& job, int capture, int rank) {
  std::vector<std::string> paths;
  for (const FolderEntry& entry : entries_of(capture_folder(job, capture))) {
    const std::optional<RankName> name = rank_of(entry.name);
    if (name && name->rank == rank) paths.push_back(capture_folder(job, capture) + "/" + entry.name);
  }
  return paths;
}

bool Recovery::has_file(const std::string& job, int capture, int rank) { return !files_of(job, capture, rank).empty(); }

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
  std::set<std::string> logs;
  for (const auto& [id, upload] : uploads_) {
    if (upload.stage == UploadStage::growing) logs.insert(part_path(upload));
  }
  for (const FolderEntry& job : entries_of("jobs")) {
    if (!is_job(job.name)) continue;
    const std::string mark = job_folder(job.name) + "/" + kRestoredName;
    if (exists(mark)) restored_jobs_[job.name] = uid_in(beginning_of(mark));
    for (const FolderEntry& capture : entries_of(ranks_folder(job.name))) {
      const std::optional<int> number = capture_of(capture.name);
      if (!number) continue;
      for (const FolderEntry& entry : entries_of(capture_folder(job.name, *number))) {
        const std::optional<RankName> name = rank_of(entry.name);
        const std::string path = capture_folder(job.name, *number) + "/" + entry.name;
        const auto row = name ? rows_.find({job.name, *number, name->rank}) : rows_.end();
        if (settled_.count(path) > 0 || logs.count(path) > 0 ||
            (row != rows_.end() && row->second.suffix == name->suffix))
          continue;
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

// The upload whose file this is, as far as can be seen: it was moved here, so its part is gone from in/, and length and
// digest were seen to be right before.
UploadRow* Recovery::upload_of(const FileRow& file) {
  for (auto& [id, upload] : uploads_) {
    const UploadMetadata& metadata = upload.asked.metadata;
    const bool of_rank = metadata.job == file.job && metadata.capture == file.capture && metadata.rank == file.rank;
    const bool same = upload.asked.length.value_or(file.size) == file.size && upload.durable <= file.size &&
                      metadata.sha256.value_or(file.digest) == file.digest;
    uint64_t part = 0;
    const bool moved = !exists(part_path(id), &part) || part == file.size;
    if (is_open(upload) && upload.stage != UploadStage::growing && of_rank && same && moved) return &upload;
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

}  // namespace skewscope::gather
