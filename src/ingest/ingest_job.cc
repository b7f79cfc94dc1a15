// The story of ingest: overrides from the user, every file read and linked, jobs distinguished, one chosen, its ranks
// and sessions.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "assemble_job.h"
#include "join_logs.h"
#include "read_files.h"
#include "share_files.h"
#include "skewscope/ingest.h"
#include "src/ingest/jobs/choose_job.h"
#include "src/ingest/jobs/find_jobs.h"
#include "src/ingest/ranks/file_name_host.h"
#include "src/ingest/stamps/lost_base_time.h"
#include "usable_files.h"

namespace skewscope {
namespace {

// What the file itself says, even where it is outvoted; 0: nothing, or no size at all.
int32_t own_world_size(const TraceFile& file) {
  const int64_t size = file.evidence.distributed.world_size;
  return size > 0 && size <= std::numeric_limits<int32_t>::max() ? static_cast<int32_t>(size) : 0;
}

std::vector<FileSummary> summarize_files(const std::vector<TraceFile>& files) {
  std::vector<FileSummary> summaries;
  for (const TraceFile& file : files) {
    FileSummary summary;
    summary.file = file.evidence.file;
    summary.format = ingest::format_of(file);
    summary.compression = file.compression;
    summary.usable = file.usable;
    summary.host = file.evidence.host;
    summary.world_size = own_world_size(file);
    summary.events = file.events;
    summary.bytes = file.bytes;
    summary.gpu_rows = static_cast<int64_t>(file.linked.trace.gpu.size());
    summary.collective_calls = static_cast<int64_t>(file.linked.trace.calls.size());
    summary.first_event = file.evidence.first_event;
    summary.last_event = file.evidence.last_event;
    for (const StepRange& step : file.linked.trace.steps) summary.steps.push_back(step.number);
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

// From row of the files of one job to row of all files.
using RowsOfAll = std::vector<size_t>;

struct TakenJob {
  std::vector<TraceFile> files;
  RowsOfAll rows;
};

// The files of job `k`, and those of its folders that are of no job: what is wrong with these concerns it.
TakenJob take_job(std::vector<TraceFile>& files, const ingest::FoundJobs& found, size_t k) {
  std::vector<bool> taken(files.size(), found.jobs.size() < 2);
  if (found.jobs.size() > 1) {
    std::set<std::string> folders;
    for (const size_t i : found.jobs[k].rows) {
      taken[i] = true;
      folders.insert(files[i].evidence.folder);
    }
    std::vector<bool> of_a_job(files.size(), false);
    for (const ingest::JobFiles& job : found.jobs) {
      for (const size_t i : job.rows) of_a_job[i] = true;
    }
    for (const auto& [copy, original] : found.copies) of_a_job[copy] = !taken[original];
    for (size_t i = 0; i < files.size(); ++i) {
      if (!of_a_job[i] && folders.count(files[i].evidence.folder) > 0) taken[i] = true;
    }
  }
  TakenJob job;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!taken[i]) continue;
    job.files.push_back(std::move(files[i]));
    job.rows.push_back(i);
  }
  return job;
}

// From here on a copy is no trace of the job's.
void mark_copies(const ingest::FoundJobs& found, std::vector<TraceFile>& files) {
  for (const auto& [copy, original] : found.copies) {
    files[copy].usable = false;
    files[copy].linked.findings.push_back(ingest::copy_left_out(files[copy], files[original]));
  }
}

void add_ranks(const ingest::AssembledJob& assembled, const RowsOfAll& rows, std::vector<FileSummary>& summaries) {
  std::map<std::string, size_t> row_of;
  for (size_t k = 0; k < rows.size(); ++k) {
    FileSummary& summary = summaries[rows[k]];
    row_of.emplace(summary.file, rows[k]);
    if (!assembled.ranks[k].rank.known()) continue;
    summary.rank = assembled.ranks[k].rank;
    summary.rank_source = assembled.ranks[k].rank_source;
    if (summary.world_size == 0) summary.world_size = assembled.job.world_size;
    summary.session = std::max(assembled.ranks[k].session.value, 0);
  }
  for (const Finding& finding : assembled.job.findings) {
    const auto row = row_of.find(finding.file);
    if (row != row_of.end()) summaries[row->second].problems.push_back(finding.message);
  }
}

// A copy is of the rank and the job of what it is a copy of.
void add_ranks_of_copies(const ingest::FoundJobs& found, std::vector<FileSummary>& summaries) {
  for (const auto& [copy, original] : found.copies) {
    summaries[copy].rank = summaries[original].rank;
    summaries[copy].rank_source = summaries[original].rank_source;
    summaries[copy].job = summaries[original].job;
  }
}

// Paths from the folder that holds the first files of all: where that one lies is no matter of the jobs.
std::vector<FoundJob> described(const ingest::FoundJobs& found) {
  namespace fs = std::filesystem;
  std::vector<FoundJob> jobs;
  fs::path common;
  for (const ingest::JobFiles& job : found.jobs) {
    const fs::path folder = fs::path(job.job.first_file).parent_path();
    if (jobs.empty()) common = folder;
    const auto differ = std::mismatch(common.begin(), common.end(), folder.begin(), folder.end()).first;
    common = std::accumulate(common.begin(), differ, fs::path(), std::divides<>());
    jobs.push_back(job.job);
  }
  for (FoundJob& job : jobs) {
    const fs::path within = fs::path(job.first_file).lexically_relative(common);
    if (!within.empty()) job.first_file = within.string();
  }
  return jobs;
}

template <class T>
Result<Done> failure_of(const Result<T>& result) {
  if (!result.ok()) return result.error();
  return Done{};
}

// From here on the rows of other processes' traces are theirs alone: the names have served.
void leave_to_others(int32_t process, JobTrace& job) {
  job.process = process;
  for (RankTrace& trace : job.traces) {
    if (trace.process != process) trace.gpu = GpuEvents();
  }
}

// The host that the user says, else the trace, else who keeps it, else its name.
void name_hosts(const IngestOptions& options, const ingest::RankOverrides& overrides, std::vector<TraceFile>& files) {
  for (TraceFile& file : files) {
    std::string said = overrides.host_from_map(file.evidence);
    if (said.empty() && file.evidence.host.empty()) {
      if (options.host_of) said = options.host_of(file.path);
      if (said.empty()) said = ingest::host_in_name(file.evidence);
    }
    if (!said.empty()) file.evidence.host = file.linked.trace.host = std::move(said);
  }
}

// All usable files, each one capture of one process; which rank, and of which job, is open.
Result<std::vector<TraceFile>> read_all(const std::vector<std::string>& files, const IngestOptions& options,
                                        const ingest::RankOverrides& overrides, StageTimer& timer, Exchange& exchange,
                                        std::vector<ingest::LogOfJob>& logs) {
  std::vector<std::string> sorted_files(files);
  std::sort(sorted_files.begin(), sorted_files.end());
  sorted_files.erase(std::unique(sorted_files.begin(), sorted_files.end()), sorted_files.end());

  Result<std::vector<TraceFile>> read = [&] {
    const StageTimer::Scope scope(timer, "read and link files");
    return ingest::read_files(sorted_files, options);
  }();
  if (const auto all = agree(exchange, failure_of(read)); !all.ok()) return all.error();
  {
    const StageTimer::Scope scope(timer, "tell other processes");
    read = ingest::gather_files(std::move(read).value(), exchange);
  }
  if (!read.ok()) return read.error();
  name_hosts(options, overrides, read.value());
  ingest::tell_apart(read.value());
  // A digest takes the place of the trace it was made of, wherever it lies itself.
  std::stable_sort(read.value().begin(), read.value().end(),
                   [](const TraceFile& a, const TraceFile& b) { return a.evidence.file < b.evidence.file; });
  ingest::mark_usable(read.value());
  logs = ingest::join_logs(read.value(), exchange.processes() == 1);
  ingest::restore_base_times(read.value());
  return read;
}

// The job that is reported, and what is said of those that are not.
Result<size_t> chosen_job(const std::vector<TraceFile>& files, const IngestOptions& options, ingest::FoundJobs& found,
                          Findings& findings) {
  if (found.jobs.size() > 1 && options.several_jobs) options.several_jobs(described(found));
  Result<size_t> chosen = ingest::choose_job(files, found.jobs, options.job);
  if (!chosen.ok() || found.jobs.empty()) return chosen;
  ingest::JobFiles& reported = found.jobs[chosen.value()];
  reported.job.reported = true;
  for (const ingest::JobFiles& other : found.jobs) {
    if (&other == &reported) continue;
    findings.push_back(ingest::not_reported(files, reported, other));
  }
  return chosen;
}

// The whole logs of the job's processes; ranks are those of their traces. None where there are no such logs.
std::optional<JobTrace> logged_job(std::vector<TraceFile>& files, const ingest::JobFiles& job,
                                   std::vector<ingest::LogOfJob>& logs, const ingest::RankOverrides& overrides,
                                   const std::vector<int32_t>& only_ranks) {
  std::map<size_t, int64_t> rank_of;
  for (size_t k = 0; k < job.rows.size(); ++k) rank_of[job.rows[k]] = job.ranks.files[k].rank.value;
  std::vector<TraceFile> whole;
  for (ingest::LogOfJob& log : logs) {
    const auto trace = rank_of.find(log.trace);
    if (trace == rank_of.end()) continue;
    TraceFile& file = whole.emplace_back(ingest::take_log(log, files));
    if (!log.of_trace || file.evidence.parts > 1) continue;
    DistributedInfo& distributed = file.evidence.distributed;
    distributed.present = true;
    distributed.rank = trace->second;
    distributed.rank_from = "trace of its process";
  }
  if (whole.empty()) return std::nullopt;
  Result<ingest::AssembledJob> assembled = ingest::assemble_job(whole, overrides, only_ranks);
  if (!assembled.ok()) return std::nullopt;  // --ranks may leave none
  return std::move(assembled).value().job;
}

}  // namespace

Result<IngestedJob> ingest_job(const std::vector<std::string>& files, const IngestOptions& options, StageTimer& timer,
                               Exchange& exchange) {
  const Result<ingest::RankOverrides> overrides =
      ingest::RankOverrides::make(options.rank_map, options.rank_regex, options.world_size);
  if (const auto all = agree(exchange, failure_of(overrides)); !all.ok()) return all.error();
  std::vector<ingest::LogOfJob> logs;
  Result<std::vector<TraceFile>> read = read_all(files, options, overrides.value(), timer, exchange, logs);
  if (!read.ok()) return read.error();

  // From here on every usable file is one capture of one process, with calls and metadata; which rank, is open.
  const StageTimer::Scope scope(timer, "ranks, sessions, communicators");
  std::vector<FileSummary> summaries = summarize_files(read.value());
  ingest::FoundJobs found = find_jobs(read.value(), overrides.value(), options.one_job);
  ingest::name_jobs(read.value(), found.jobs);
  Findings of_others;
  const Result<size_t> chosen = chosen_job(read.value(), options, found, of_others);
  if (!chosen.ok()) return chosen.error();

  // From here on the files are those of one job.
  std::optional<JobTrace> logged;
  if (!found.jobs.empty()) {
    logged = logged_job(read.value(), found.jobs[chosen.value()], logs, overrides.value(), options.ranks);
    if (logged) leave_to_others(exchange.process(), *logged);
  }
  mark_copies(found, read.value());
  TakenJob taken = take_job(read.value(), found, chosen.value());
  read.value().clear();
  const ingest::ResolvedRanks* ranks = found.jobs.empty() ? nullptr : &found.jobs[chosen.value()].ranks;
  Result<ingest::AssembledJob> assembled = ingest::assemble_job(taken.files, overrides.value(), options.ranks, ranks);
  if (!assembled.ok()) return assembled.error();
  JobTrace& job = assembled.value().job;
  job.findings.insert(job.findings.end(), of_others.begin(), of_others.end());
  sort_findings(job.findings);
  if (found.jobs.size() == 1) found.jobs.front().job.name = job.name;
  job.jobs_found = described(found);
  add_ranks(assembled.value(), taken.rows, summaries);
  for (const ingest::JobFiles& of : found.jobs) {
    for (const size_t i : of.rows) summaries[i].job = of.job.name;
  }
  add_ranks_of_copies(found, summaries);
  leave_to_others(exchange.process(), job);
  return IngestedJob{std::move(job), std::move(summaries), std::move(logged)};
}

Result<InspectedFiles> inspect_files(const std::vector<std::string>& files, const IngestOptions& options,
                                     StageTimer& timer) {
  const Result<ingest::RankOverrides> overrides =
      ingest::RankOverrides::make(options.rank_map, options.rank_regex, options.world_size);
  if (!overrides.ok()) return overrides.error();
  std::vector<ingest::LogOfJob> logs;
  Result<std::vector<TraceFile>> read = read_all(files, options, overrides.value(), timer, alone(), logs);
  if (!read.ok()) return read.error();
  InspectedFiles inspected;
  inspected.files = summarize_files(read.value());
  ingest::FoundJobs found = find_jobs(read.value(), overrides.value(), options.one_job);
  ingest::name_jobs(read.value(), found.jobs);
  mark_copies(found, read.value());
  for (size_t k = 0; k < std::max<size_t>(found.jobs.size(), 1); ++k) {
    TakenJob taken = take_job(read.value(), found, k);
    const ingest::ResolvedRanks* ranks = found.jobs.empty() ? nullptr : &found.jobs[k].ranks;
    const auto assembled = ingest::assemble_job(taken.files, overrides.value(), options.ranks, ranks);
    if (!assembled.ok()) {
      // --ranks and --steps may leave some jobs nothing.
      if (k + 1 < found.jobs.size() || !inspected.jobs.empty()) continue;
      return assembled.error();
    }
    const JobTrace& job = assembled.value().job;
    if (found.jobs.size() == 1) found.jobs.front().job.name = job.name;
    InspectedJob row{found.jobs[k].job, 0, job.sessions, job.vendor};
    std::set<Rank> present;
    for (const RankTrace& trace : job.traces) present.insert(trace.rank);
    row.ranks = static_cast<int32_t>(present.size());
    add_ranks(assembled.value(), taken.rows, inspected.files);
    for (const size_t i : found.jobs[k].rows) inspected.files[i].job = row.found.name;
    inspected.jobs.push_back(std::move(row));
  }
  add_ranks_of_copies(found, inspected.files);
  return inspected;
}

}  // namespace skewscope
