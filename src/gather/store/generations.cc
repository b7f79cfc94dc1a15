// Reports: each generation is a folder of its own, made by another process; it is flushed, and `current` swapped,
// before anybody learns of it.
#include "generations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "skewscope/base/named_host.h"
#include "skewscope/protocol/names.h"
#include "src/gather/disk/spool_paths.h"
#include "src/gather/kept/report_files.h"

namespace skewscope::gather {
namespace {

constexpr size_t kGenerationsKept = 2;
constexpr int kDeepestReport = 4;
constexpr std::string_view kPage = "index.html";
constexpr std::string_view kOfDumps[] = {"hang/hang.json", "hang/index.html", "hang/summary.txt"};
constexpr const char* kLog = "log";
constexpr size_t kMostHostsText = 32 << 10;  // half of what the process that makes reports takes at once

bool may_be_read(std::string_view file) {
  const std::string_view in_report = path_in_report(file);
  return in_report == kPage || is_report_file(in_report) ||
         std::find(std::begin(kOfDumps), std::end(kOfDumps), file) != std::end(kOfDumps);
}

// As ReportTask tells them.
std::string hosts_of(const Job& job) {
  std::string text;
  for (const auto& [capture, ranks] : job.files) {
    if (is_dump(capture)) continue;
    for (auto first = ranks.begin(); first != ranks.end();) {
      const std::string host = host_behind_at(first->second.filename);
      auto last = first, next = std::next(first);
      while (next != ranks.end() && next->first == last->second.last_rank() + 1 &&
             host_behind_at(next->second.filename) == host) {
        last = next++;
      }
      if (!host.empty()) text += fmt::format("{} {} {} {}\n", capture, first->first, last->second.last_rank(), host);
      first = next;
    }
  }
  return text.size() <= kMostHostsText ? text : "";
}

}  // namespace

struct Reports::Begun {
  std::string job;
  Time at{};
  ReportRow row;
  Store::ReportFolders folders;
};

void Reports::begin(const std::string& name, Reply<Store::ReportFolders> done) {
  Refusal refusal = engine_.closed();
  if (refusal == Refusal::none) {
    const GatherLimits most = engine_.limits();
    const auto memory = core_.memory.lock();
    Job* job = memory->jobs.find(name);
    refusal = job == nullptr ? Refusal::unknown : memory->budget.take_room(*job, most);
  }
  if (refusal != Refusal::none) return engine_.answer<Store::ReportFolders>(std::move(done), {refusal, {}});
  const auto begun = std::make_shared<Begun>();
  begun->job = name;
  begun->at = engine_.now();
  Change change;
  change.key = name;
  change.prepare = [this, begun](FoldersToFlush& folders) { return prepare(*begun, folders); };
  change.rows = [begun](Manifest& manifest) { manifest.put(begun->row); };
  change.done = [this, begun, done](Refusal why) {
    if (why != Refusal::none) {
      {
        const auto memory = core_.memory.lock();
        if (Job* job = memory->jobs.find(begun->job)) memory->budget.give_room_back(*job);
      }
      return done({why, {}});
    }
    settle(*begun);
    done({Refusal::none, begun->folders});
    engine_.changed(begun->job);
  };
  engine_.post(std::move(change));
}

Refusal Reports::prepare(Begun& begun, FoldersToFlush& folders) {
  const std::string& name = begun.job;
  {
    const Time now = engine_.now();
    const auto memory = core_.memory.lock();
    const Job* job = memory->jobs.standing(name);
    if (job == nullptr) return Refusal::unknown;
    const JobState state = state_of(*job, now);
    if (state.report == ReportState::running) return Refusal::too_many;
    const int generation = job->reports.empty() ? 1 : job->reports.rbegin()->first + 1;
    begun.row = {name, generation, ReportState::running, state.arrivals, begun.at, {}, 0};
    begun.folders = {generation,
                     engine_.spool() + "/" + ranks_folder(name),
                     engine_.spool() + "/" + report_folder(name, generation),
                     state.expected,
                     !is_whole(state) || state.mixed,
                     state.missing_ranks,
                     job->room,
                     hosts_of(*job)};
  }
  int error = 0;
  for (const std::string& folder : {job_folder(name), ranks_folder(name), reports_folder(name)}) {
    if (error == 0) error = core_.folders.ensure(folder, folders);
  }
  if (error != 0) return engine_.refusal_of(error, "cannot make the report folder of " + name);
  return core_.folders.to_trash(report_folder(name, begun.row.generation), folders);
}

void Reports::settle(const Begun& begun) {
  const auto memory = core_.memory.lock();
  Job& job = memory->jobs.at(begun.job);
  const bool same = !job.reports.empty() && job.reports.rbegin()->second.arrivals == begun.row.arrivals;
  if (!same) job.failed_tries = 0;
  job.reports[begun.row.generation] = begun.row;
  job.partial = begun.folders.partial;
}

void Reports::end(const std::string& name, int generation, int exit_code, Reply<JobState> done) {
  Ended ended;
  ended.job = name;
  ended.row.generation = generation;
  ended.row.exit_code = exit_code;
  const Refusal refusal = engine_.failed() ? Refusal::unavailable : take_running(ended);
  if (refusal != Refusal::none) return engine_.answer<JobState>(std::move(done), {refusal, {}});
  ended.row.ended = engine_.now();
  engine_.on_file_thread(name, [this, ended, done = std::move(done)] { put(ended, done); });
}

// The row of the report that runs, as it is if it can be read; and its room, which it gives back.
Refusal Reports::take_running(Ended& ended) {
  const auto memory = core_.memory.lock();
  Job* job = memory->jobs.standing(ended.job);
  const auto report = job == nullptr ? std::map<int, ReportRow>::iterator() : job->reports.find(ended.row.generation);
  if (job == nullptr || report == job->reports.end()) return Refusal::unknown;
  ended.room = job->room;
  memory->budget.give_room_back(*job);
  if (report->second.state != ReportState::running) return Refusal::unknown;
  int exit_code = ended.row.exit_code;
  const bool in_part = exit_code == kReportInPart || job->partial;
  if (exit_code == kReportTooLarge && job->room_is_of_disk) exit_code = kReportCannotWrite;
  ended.row = report->second;
  ended.row.state = in_part ? ReportState::partial : ReportState::complete;
  ended.row.exit_code = exit_code;
  return Refusal::none;
}

void Reports::put(Ended ended, const Reply<JobState>& done) {
  ReportRow& row = ended.row;
  const std::string folder = report_folder(ended.job, row.generation);
  PathInfo marker;
  const bool says_so = row.exit_code == 0 || row.exit_code == 1 || row.exit_code == kReportInPart;
  const int error = says_so ? files_.info(folder + "/COMPLETE", marker) : ENOENT;
  Refusal flushed = error == ENOENT ? Refusal::none : engine_.refusal_of(error, "cannot look at the report " + folder);
  if (error == 0) flushed = flush(folder, 0, row.bytes);
  if (flushed == Refusal::unavailable && engine_.failed()) return done({flushed, {}});
  const bool fits = ended.room == 0 || row.bytes <= ended.room;
  const bool whole = error == 0 && flushed == Refusal::none && fits;
  if (!fits) row.exit_code = kReportTooLarge;
  if (!whole) row.state = ReportState::failed, row.bytes = 0;
  if (flushed == Refusal::no_space) row.exit_code = kReportCannotWrite;
  post(ended.job, row, whole, done);
}

// `bytes`: grows by what it holds.
Refusal Reports::flush(const std::string& folder, int depth, uint64_t& bytes) {
  std::vector<FolderEntry> entries;
  int error = files_.list(folder, entries);
  for (const FolderEntry& entry : entries) {
    if (error != 0) break;
    const std::string path = folder + "/" + entry.name;
    if (!entry.folder) error = flush_file(path, bytes);
    if (!entry.folder || depth >= kDeepestReport) continue;
    const Refusal refusal = flush(path, depth + 1, bytes);
    if (refusal != Refusal::none) return refusal;
  }
  if (error == 0) error = files_.sync_folder(folder);
  return engine_.refusal_of(error, "cannot flush the report " + folder);
}

int Reports::flush_file(const std::string& path, uint64_t& bytes) {
  int file = -1;
  int error = files_.open(path, false, file);
  if (error == ELOOP) return 0;  // a link is not followed and not served
  if (error == 0) error = files_.sync_data(file);
  uint64_t size = 0;
  if (error == 0) error = files_.size(file, size);
  bytes += size;
  if (file >= 0) files_.close(file);
  Pulse::beat_here();
  return error;
}

void Reports::post(const std::string& name, const ReportRow& row, bool swap, const Reply<JobState>& done) {
  Change change;
  change.key = name;
  change.prepare = [this, name, row, swap](FoldersToFlush& folders) {
    if (core_.memory.lock()->jobs.standing(name) == nullptr) return Refusal::unknown;
    return swap ? swap_current(name, row.generation, folders) : discard_unfinished(name, row.generation, folders);
  };
  change.rows = [row](Manifest& manifest) { manifest.put(row); };
  change.done = [this, name, row, done](Refusal refusal) {
    done({refusal, settle(name, row, refusal)});
    if (refusal != Refusal::none) return;
    discard_old(name);
    engine_.changed(name);
  };
  engine_.post(std::move(change));
}

Refusal Reports::swap_current(const std::string& name, int generation, FoldersToFlush& folders) {
  const std::string folder = reports_folder(name), swapped = folder + "/current.tmp";
  files_.remove(swapped);
  int error = files_.make_link(report_name(generation), swapped);
  if (error == 0) error = files_.rename(swapped, folder + "/current", true);
  folders.insert(folder);
  return engine_.refusal_of(error, "cannot swap the report of " + name);
}

JobState Reports::settle(const std::string& name, const ReportRow& row, Refusal refusal) {
  const Time now = engine_.now();
  const auto memory = core_.memory.lock();
  Job* job = memory->jobs.find(name);
  if (job == nullptr || job->reports.count(row.generation) == 0) return {};
  ReportRow& report = job->reports[row.generation];
  report = row;
  ++job->failed_tries;
  if (refusal == Refusal::none) {
    memory->budget.charge_reports(*job, static_cast<int64_t>(row.bytes));
  } else {
    report.state = ReportState::failed;  // the row still says that it runs: a restart makes it again
  }
  return state_of(*job, now);
}

// What a report that failed, or was ended, has left behind, under its name or the one it has while it is written.
Refusal Reports::discard_unfinished(const std::string& job, int generation, FoldersToFlush& folders) {
  std::vector<FolderEntry> entries;
  files_.list(reports_folder(job), entries);
  const std::string name = report_name(generation);
  for (const FolderEntry& entry : entries) {
    if (entry.name != name && !entry.name.starts_with(name + ".partial")) continue;
    const Refusal refusal = core_.folders.to_trash(reports_folder(job) + "/" + entry.name, folders);
    if (refusal != Refusal::none) return refusal;
  }
  return Refusal::none;
}

// All but the newest that can be read and the newest that failed, with their logs.
std::vector<int> Reports::old_generations(const std::string& name) const {
  const auto memory = core_.memory.lock();
  const auto& reports = memory->jobs.at(name).reports;
  std::vector<int> out;
  size_t readable = 0, failed = 0;
  for (auto report = reports.rbegin(); report != reports.rend(); ++report) {
    size_t& of_its_kind = is_readable(report->second.state) ? readable : failed;
    if (readable >= kGenerationsKept || of_its_kind >= kGenerationsKept) out.push_back(report->first);
    ++of_its_kind;
  }
  return out;
}

void Reports::discard_old(const std::string& name) {
  const std::vector<int> old = old_generations(name);
  if (old.empty()) return;
  Change change;
  change.key = name;
  change.prepare = [this, name, old](FoldersToFlush& folders) {
    for (const int generation : old) {
      for (const char* suffix : {"", ".log"}) {
        const Refusal refusal = core_.folders.to_trash(report_folder(name, generation) + suffix, folders);
        if (refusal != Refusal::none) return refusal;
      }
    }
    return Refusal::none;
  };
  change.rows = [name, old](Manifest& manifest) {
    for (const int generation : old) manifest.remove_report(name, generation);
  };
  change.done = [this, name, old](Refusal refusal) {
    const auto memory = core_.memory.lock();
    Job* job = memory->jobs.find(name);
    if (refusal != Refusal::none || job == nullptr) return;
    for (const int generation : old) {
      const auto report = job->reports.find(generation);
      if (report == job->reports.end()) continue;
      memory->budget.charge_reports(*job, -static_cast<int64_t>(report->second.bytes));
      job->reports.erase(report);
    }
  };
  engine_.post(std::move(change));
}

Outcome<StoredFile> Reports::read(const std::string& name, int generation, const std::string& file) const {
  const bool log = file == kLog;
  if (!log && !may_be_read(file)) return {Refusal::unknown, {}};
  {
    const Time now = engine_.now();
    const auto memory = core_.memory.lock();
    const Job* job = memory->jobs.standing(name);
    if (job == nullptr) return {Refusal::unknown, {}};
    if (generation == 0 && log && !job->reports.empty()) generation = job->reports.rbegin()->first;
    if (generation == 0) generation = brief_state_of(*job, now).report_generation;
    const auto report = job->reports.find(generation);
    if (report == job->reports.end()) return {Refusal::unknown, {}};
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

// Of the newest report that can be read; "": there is none.
std::string Reports::newest_folder(const std::string& name) const {
  const Time now = engine_.now();
  const auto memory = core_.memory.lock();
  const Job* job = memory->jobs.standing(name);
  const int generation = job == nullptr ? 0 : brief_state_of(*job, now).report_generation;
  return generation == 0 ? "" : report_folder(name, generation) + "/";
}

std::vector<Store::ReportFile> Reports::files(const std::string& name) const {
  const std::string folder = newest_folder(name);
  if (folder.empty()) return {};
  std::vector<std::string> names(kReportFiles.begin(), kReportFiles.end());
  std::vector<FolderEntry> tables;
  files_.list(folder + std::string(kReportTables), tables);
  std::sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (const FolderEntry& table : tables) names.push_back(std::string(kReportTables) + table.name);
  std::vector<Store::ReportFile> out;
  for (std::string& file : names) {
    PathInfo info;
    if (is_report_file(file) && files_.info(folder + file, info) == 0) out.push_back({std::move(file), info.size});
  }
  return out;
}

std::vector<int> Reports::captures(const std::string& name) const {
  const std::string folder = newest_folder(name);
  if (folder.empty()) return {};
  std::vector<FolderEntry> entries;
  files_.list(folder + kCaptureReports, entries);
  std::vector<int> out;
  for (const FolderEntry& entry : entries) {
    if (const auto capture = capture_of(entry.name)) out.push_back(*capture);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace skewscope::gather
