// Reports: each generation is a folder of its own, made by another process; it is flushed, and `current` swapped,
// before anybody is told of it.
#include <algorithm>
#include <cerrno>

#include "spool_store.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {
namespace {

constexpr size_t kGenerationsKept = 2;
constexpr int kDeepestReport = 4;
constexpr const char* kReadable[] = {"report.json", "index.html", "summary.txt", "report.sqlite", "diagnostics.json"};
constexpr const char* kLog = "log";

// How often a report is made that failed by this code; what crashed or is wrong in itself, once.
int most_tries(int exit_code) {
  switch (exit_code) {
    case kCannotFork:
    case kReportCannotWrite:
      return 10;
    case kReportOutOfMemory:
      return 2;
    default:
      return 1;
  }
}

bool is_readable(ReportState state) { return state == ReportState::complete || state == ReportState::partial; }

}  // namespace

void SpoolStore::begin_report(const std::string& name, Reply<ReportFolders> done) {
  Refusal refusal = closed();
  if (refusal == Refusal::none) {
    const std::lock_guard lock(mutex_);
    const auto found = jobs_.find(name);
    refusal = found == jobs_.end() ? Refusal::unknown : take_room_held(found->second);
  }
  if (refusal != Refusal::none) return answer<ReportFolders>(std::move(done), {refusal, {}});
  const Time at = now();
  const auto row = std::make_shared<ReportRow>();
  const auto folders_of = std::make_shared<ReportFolders>();
  Change change;
  change.key = name;
  change.prepare = [this, name, at, row, folders_of](FoldersToFlush& folders) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = jobs_.find(name);
      if (found == jobs_.end() || found->second.row.deleting) return Refusal::unknown;
      const JobState state = state_held(found->second);
      if (state.report == ReportState::running) return Refusal::too_many;
      const auto& reports = found->second.reports;
      *row = {name, reports.empty() ? 1 : reports.rbegin()->first + 1, ReportState::running, state.arrivals, at, {}, 0};
      *folders_of = {row->generation,
                     options_.spool + "/" + ranks_folder(name),
                     options_.spool + "/" + report_folder(name, row->generation),
                     state.expected,
                     !is_whole(state) || state.mixed,
                     state.missing_ranks,
                     found->second.room};
    }
    int error = 0;
    for (const std::string& folder : {job_folder(name), ranks_folder(name), reports_folder(name)}) {
      if (error == 0) error = ensure_folder(folder, folders);
    }
    if (error != 0) return refusal_of(error, "cannot make the report folder of " + name);
    return to_trash(report_folder(name, row->generation), folders);
  };
  change.rows = [row](Manifest& manifest) { manifest.put(*row); };
  change.done = [this, name, row, folders_of, done](Refusal why) {
    if (why != Refusal::none) {
      const std::lock_guard lock(mutex_);
      const auto job = jobs_.find(name);
      if (job != jobs_.end()) give_room_back_held(job->second);
    }
    if (why != Refusal::none) return done({why, {}});
    {
      const std::lock_guard lock(mutex_);
      Job& job = jobs_.at(name);
      const bool same = !job.reports.empty() && job.reports.rbegin()->second.arrivals == row->arrivals;
      if (!same) job.failed_tries = 0;
      job.reports[row->generation] = *row;
      job.partial = folders_of->partial;
    }
    done({Refusal::none, *folders_of});
    changed(name);
  };
  post(std::move(change));
}

void SpoolStore::end_report(const std::string& name, int generation, int exit_code, Reply<JobState> done) {
  Refusal refusal = failed_ ? Refusal::unavailable : Refusal::none;
  ReportRow row;
  uint64_t room = 0;
  if (refusal == Refusal::none) {
    const std::lock_guard lock(mutex_);
    const auto job = jobs_.find(name);
    const bool there = job != jobs_.end() && !job->second.row.deleting && job->second.reports.count(generation) > 0;
    if (there) row = job->second.reports.at(generation);
    if (!there || row.state != ReportState::running) refusal = Refusal::unknown;
    const bool in_part = exit_code == kReportInPart || (there && job->second.partial);
    if (there) row.state = in_part ? ReportState::partial : ReportState::complete;
    if (there && exit_code == kReportTooLarge && job->second.room_is_of_disk) exit_code = kReportCannotWrite;
    if (there) room = job->second.room;
    if (there) give_room_back_held(job->second);
  }
  if (refusal != Refusal::none) return answer<JobState>(std::move(done), {refusal, {}});
  row.exit_code = exit_code;
  row.ended = now();
  on_file_thread(name, [this, name, row, room, done = std::move(done)]() mutable {
    const std::string folder = report_folder(name, row.generation);
    PathInfo marker;
    const bool told_so = row.exit_code == 0 || row.exit_code == 1 || row.exit_code == kReportInPart;
    const int error = told_so ? files_.info(folder + "/COMPLETE", marker) : ENOENT;
    Refusal flushed = error == ENOENT ? Refusal::none : refusal_of(error, "cannot look at the report " + folder);
    if (error == 0) flushed = flush_report(folder, 0, row.bytes);
    if (flushed == Refusal::unavailable && failed_) return done({flushed, {}});
    const bool fits = room == 0 || row.bytes <= room;
    const bool whole = error == 0 && flushed == Refusal::none && fits;
    if (!fits) row.exit_code = kReportTooLarge;
    if (!whole) row.state = ReportState::failed, row.bytes = 0;
    if (flushed == Refusal::no_space) row.exit_code = kReportCannotWrite;
    post_report(name, row, whole, done);
  });
}

// `bytes`: grows by what it holds.
Refusal SpoolStore::flush_report(const std::string& folder, int depth, uint64_t& bytes) {
  std::vector<FolderEntry> entries;
  int error = files_.list(folder, entries);
  for (const FolderEntry& entry : entries) {
    if (error != 0) break;
    const std::string path = folder + "/" + entry.name;
    if (entry.folder && depth < kDeepestReport) {
      const Refusal refusal = flush_report(path, depth + 1, bytes);
      if (refusal != Refusal::none) return refusal;
    } else if (!entry.folder) {
      int file = -1;
      error = files_.open(path, false, file);
      if (error == ELOOP) {  // a link is not followed and not served
        error = 0;
        continue;
      }
      if (error == 0) error = files_.sync_data(file);
      uint64_t size = 0;
      if (error == 0) error = files_.size(file, size);
      bytes += size;
      if (file >= 0) files_.close(file);
      Pulse::beat_here();
    }
  }
  if (error == 0) error = files_.sync_folder(folder);
  return refusal_of(error, "cannot flush the report " + folder);
}

void SpoolStore::post_report(const std::string& name, const ReportRow& row, bool swap, const Reply<JobState>& done) {
  Change change;
  change.key = name;
  change.prepare = [this, name, row, swap](FoldersToFlush& folders) {
    {
      const std::lock_guard lock(mutex_);
      const auto job = jobs_.find(name);
      if (job == jobs_.end() || job->second.row.deleting) return Refusal::unknown;
    }
    if (!swap) return discard_unfinished(name, row.generation, folders);
    const std::string folder = reports_folder(name), swapped = folder + "/current.tmp";
    files_.remove(swapped);
    int error = files_.make_link(report_name(row.generation), swapped);
    if (error == 0) error = files_.rename(swapped, folder + "/current", true);
    folders.insert(folder);
    return refusal_of(error, "cannot swap the report of " + name);
  };
  change.rows = [row](Manifest& manifest) { manifest.put(row); };
  change.done = [this, name, row, done](Refusal refusal) {
    JobState state;
    {
      const std::lock_guard lock(mutex_);
      const auto job = jobs_.find(name);
      const bool there = job != jobs_.end() && job->second.reports.count(row.generation) > 0;
      if (there) job->second.reports[row.generation] = row;
      if (there) ++job->second.failed_tries;
      if (there && refusal == Refusal::none) charge_reports_held(job->second, static_cast<int64_t>(row.bytes));
      // The row still says that it runs: a restart makes it again.
      if (there && refusal != Refusal::none) job->second.reports[row.generation].state = ReportState::failed;
      if (there) state = state_held(job->second);
    }
    done({refusal, state});
    if (refusal != Refusal::none) return;
    discard_reports(name);
    changed(name);
  };
  post(std::move(change));
}

bool SpoolStore::is_to_be_tried_again(const Job& job) {
  if (job.reports.empty() || job.reports.rbegin()->second.state != ReportState::failed) return false;
  return job.failed_tries < most_tries(job.reports.rbegin()->second.exit_code);
}

// A start gives each failure one more try; not to what has ended the forker twice.
void SpoolStore::count_tries(Job& job) {
  if (job.reports.empty()) return;
  const ReportRow& newest = job.reports.rbegin()->second;
  const auto ended_forker = [&](const auto& report) {
    return report.second.exit_code == kForkerGone && report.second.arrivals == newest.arrivals;
  };
  const auto ends = std::count_if(job.reports.begin(), job.reports.end(), ended_forker);
  const bool once_more = newest.exit_code == kForkerGone && ends < 2;
  job.failed_tries = once_more ? 0 : std::max(1, most_tries(newest.exit_code) - 1);
}

// All but the newest that can be read and the newest that failed, with their logs.
void SpoolStore::discard_reports(const std::string& name) {
  std::vector<int> old;
  {
    const std::lock_guard lock(mutex_);
    size_t readable = 0, failed = 0;
    const auto& reports = jobs_.at(name).reports;
    for (auto report = reports.rbegin(); report != reports.rend(); ++report) {
      size_t& of_its_kind = is_readable(report->second.state) ? readable : failed;
      if (readable >= kGenerationsKept || of_its_kind >= kGenerationsKept) old.push_back(report->first);
      ++of_its_kind;
    }
  }
  if (old.empty()) return;
  Change change;
  change.key = name;
  change.prepare = [this, name, old](FoldersToFlush& folders) {
    for (const int generation : old) {
      for (const char* suffix : {"", ".log"}) {
        const Refusal refusal = to_trash(report_folder(name, generation) + suffix, folders);
        if (refusal != Refusal::none) return refusal;
      }
    }
    return Refusal::none;
  };
  change.rows = [name, old](Manifest& manifest) {
    for (const int generation : old) manifest.remove_report(name, generation);
  };
  change.done = [this, name, old](Refusal refusal) {
    const std::lock_guard lock(mutex_);
    const auto job = jobs_.find(name);
    if (refusal != Refusal::none || job == jobs_.end()) return;
    for (const int generation : old) {
      const auto report = job->second.reports.find(generation);
      if (report == job->second.reports.end()) continue;
      charge_reports_held(job->second, -static_cast<int64_t>(report->second.bytes));
      job->second.reports.erase(report);
    }
  };
  post(std::move(change));
}

Outcome<StoredFile> SpoolStore::read_report(const std::string& name, int generation, const std::string& file) const {
  const bool log = file == kLog;
  const bool known = log || std::find(std::begin(kReadable), std::end(kReadable), file) != std::end(kReadable);
  {
    const std::lock_guard lock(mutex_);
    const auto found = jobs_.find(name);
    if (!known || found == jobs_.end() || found->second.row.deleting) return {Refusal::unknown, {}};
    const Job& job = found->second;
    if (generation == 0 && log && !job.reports.empty()) generation = job.reports.rbegin()->first;
    if (generation == 0) generation = brief_state_held(job).report_generation;
    const auto report = job.reports.find(generation);
    if (report == job.reports.end()) return {Refusal::unknown, {}};
    if (!log && !is_readable(report->second.state)) return {Refusal::unknown, {}};
  }
  const std::string path = report_folder(name, generation) + (log ? ".log" : "/" + file);
  StoredFile out;
  PathInfo info;
  int error = files_.info(path, info);
  if (error == 0) error = files_.open_for_reader(path, out.fd);
  if (error != 0) return {error == ENOENT ? Refusal::unknown : Refusal::unavailable, {}};
  out.size = info.size;
  return {Refusal::none, out};
}

}  // namespace skewscope::gather
