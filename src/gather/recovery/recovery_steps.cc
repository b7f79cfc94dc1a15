// What recovery does with uploads and reports.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "certain_files.h"
#include "recovery_steps.h"
#include "skewscope/protocol/names.h"
#include "src/gather/disk/part_file.h"

namespace skewscope::gather {

bool Recovery::part_is_whole(const UploadRow& row) {
  uint64_t size = 0;
  const std::string path = part_path(row);
  if (!exists(path, &size)) return row.durable == 0;
  if (size < row.durable) return false;
  int file = -1;
  const int opened = files_.open(path, options_.repair, file);
  if (opened == EIO) {
    problem(path + " cannot be opened: " + strerror(EIO));
    return true;  // as what is_unknown(): its row stays
  }
  if (opened != 0) return false;
  Sha256 digest;
  const uint64_t bytes = row.durable - row.segment_start;
  bool whole = row.durable == 0 ||
               (digest_of(files_, file, row.segment_start, bytes, digest) == 0 && digest.digest() == row.segment);
  if (whole && size > row.durable) {
    to_do(fmt::format("{} ends with {} bytes that were never acknowledged", path, size - row.durable));
    if (options_.repair) cut_off(file, row);
  }
  files_.close(file);
  return whole;
}

// What is cut off nobody knows of, and what stays was seen to be right: no failure makes it a damaged file. The disk
// that goes with it was promised: it is taken again before anything else can have it, and if it cannot be, the next
// piece is refused.
void Recovery::cut_off(int file, const UploadRow& row) {
  if (const int error = files_.truncate(file, row.durable); error != 0) throw CannotTell{part_path(row), error};
  files_.reserve(file, row.asked.length.value_or(0));
}

void Recovery::check_uploads() {
  for (auto found = uploads_.begin(); found != uploads_.end();) {
    const UploadRow& row = found->second;
    const UploadMetadata& metadata = row.asked.metadata;
    const bool stands = rows_.count({metadata.job, metadata.capture, metadata.rank}) > 0;  // or what replaced it
    const std::string part = part_path(row);
    if (is_open(row) ? is_unknown(part) || part_is_whole(row) : row.stage == UploadStage::expired || stands) {
      job_of(metadata.job);
      ++found;
      continue;
    }
    if (is_open(row)) {
      problem("upload " + row.id + " has lost bytes: it must start again");
      if (exists(part)) set_aside(part, quarantine_folder(metadata.job), row.id + ".part");
    }
    change([id = row.id](Manifest& manifest) { manifest.remove_upload(id); });
    found = uploads_.erase(found);
  }
}

void Recovery::find_stray_parts() {
  for (const FolderEntry& entry : entries_of("in")) {
    const std::optional<std::string> id = id_of_part(entry.name);
    const auto row = id ? uploads_.find(*id) : uploads_.end();
    if (row != uploads_.end() && is_open(row->second)) continue;
    const std::string path = "in/" + entry.name;
    if (is_unknown(path)) continue;
    uint64_t size = 0;
    exists(path, &size);
    // Its bytes are a file by now, or it has none, or nobody knows of them: the row comes before the answer.
    if (row != uploads_.end() || size == 0 || (id && !restored_)) {
      to_do(path + " belongs to no upload");
      trash(path);
    } else {
      problem(path + " belongs to no upload");
      set_aside(path, kStrangers, entry.name);
    }
  }
}

void Recovery::check_reports() {
  std::set<std::string> jobs;
  for (const auto& [job, rows] : reports_) jobs.insert(job);
  for (const FolderEntry& job : entries_of("jobs")) {
    if (is_job(job.name)) jobs.insert(job.name);
  }
  for (const std::string& job : jobs) check_reports_of(job);
}

// A report that was being made is made again; a folder that no row knows was never announced.
void Recovery::check_reports_of(const std::string& job) {
  std::vector<FolderEntry> entries;
  files_.list(reports_folder(job), entries);
  std::map<int, ReportRow>& rows = reports_[job];
  bool touched = false;
  for (auto row = rows.begin(); row != rows.end();) {
    const ReportState state = row->second.state;
    const std::string folder = report_folder(job, row->first);
    const bool readable = state == ReportState::complete || state == ReportState::partial;
    if (state == ReportState::failed || (readable && is_complete(folder))) {
      ++row;
      continue;
    }
    readable ? problem(folder + " is not complete: it is made again")
             : to_do(folder + " was being made: it is made again");
    change([job, generation = row->first](Manifest& manifest) { manifest.remove_report(job, generation); });
    row = rows.erase(row);
    touched = true;
  }
  for (const FolderEntry& entry : entries) {
    const bool log = entry.name.ends_with(".log");
    const std::optional<int> generation = generation_of(entry.name.substr(0, entry.name.size() - (log ? 4 : 0)));
    const auto row = generation ? rows.find(*generation) : rows.end();
    const bool of_row = row != rows.end() && (log || row->second.state != ReportState::failed);
    if (entry.name == "current" || of_row) continue;
    if (restored_ && generation && !log && jobs_.count(job) > 0 && is_complete(report_folder(job, *generation))) {
      take_in_report(job, *generation);
      touched = true;
      continue;
    }
    trash(reports_folder(job) + "/" + entry.name);
    touched = true;
  }
  if (touched && options_.repair) point_current(job);
}

bool Recovery::is_complete(const std::string& report) {
  const std::string marker = report + "/COMPLETE";
  return !is_unknown(marker) && exists(marker);
}

// It was announced after the copy was made that the manifest was restored from, and of which files nobody knows:
// another one is made.
void Recovery::take_in_report(const std::string& job, int generation) {
  ReportRow row;
  row.job = job;
  row.generation = generation;
  row.state = ReportState::partial;
  row.started = row.ended = options_.now;
  reports_[job][generation] = row;
  change([row](Manifest& manifest) { manifest.put(row); });
}

void Recovery::point_current(const std::string& job) {
  const std::string link = reports_folder(job) + "/current";
  files_.remove(link);
  for (auto row = reports_[job].rbegin(); row != reports_[job].rend(); ++row) {
    if (row->second.state == ReportState::failed) continue;
    files_.make_link(report_name(row->first), link);
    break;
  }
  dirty_.insert(reports_folder(job));
}

}  // namespace skewscope::gather
