#include "job.h"

#include <algorithm>
#include <set>

#include "skewscope/protocol/names.h"

namespace skewscope::gather {
namespace {

constexpr size_t kMostMissingRanks = 1000, kMostMissingCaptures = 32;

const std::map<int, FileRow>& files_of(const Job& job, int capture) {
  static const std::map<int, FileRow> none;
  const auto found = job.files.find(capture);
  return found == job.files.end() ? none : found->second;
}

// Of the files of a capture. One that holds several ranks may hold such as another one has, too.
int64_t ranks_in(const std::map<int, FileRow>& files) {
  int64_t ranks = 0;
  int next = 0;
  for (const auto& [rank, file] : files) {
    ranks += std::max(0, file.last_rank() + 1 - std::max(next, rank));
    next = std::max(next, file.last_rank() + 1);
  }
  return ranks;
}

// The first ranks that are missing. No rank of `files` is as large as `expected`.
std::vector<int> missing_of(const std::map<int, FileRow>& files, int expected) {
  std::vector<int> out;
  auto file = files.begin();
  for (int rank = 0; rank < expected && out.size() < kMostMissingRanks; ++rank) {
    if (file == files.end() || rank < file->first) {
      out.push_back(rank);
      continue;
    }
    for (; file != files.end() && file->first <= rank; ++file) rank = std::max(rank, file->second.last_rank());
  }
  return out;
}

void fill_in_missing(const Job& job, JobState& state) {
  std::set<int> captures, ranks;
  for (const auto& [capture, files] : job.files) captures.insert(capture);
  for (const auto& [capture, uploads] : job.open_of_capture) captures.insert(capture);
  std::erase_if(captures, is_dump);
  state.capture_numbers.assign(captures.begin(), captures.end());
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
  const auto is_of_traces = [](const auto& entry) { return !is_dump(entry.first); };
  const auto has_no_file = [&](const auto& open) { return is_of_traces(open) && job.files.count(open.first) == 0; };
  return static_cast<size_t>(std::count_if(job.files.begin(), job.files.end(), is_of_traces) +
                             std::count_if(job.open_of_capture.begin(), job.open_of_capture.end(), has_no_file));
}

void fill_in_reports(const Job& job, bool again, JobState& state) {
  if (job.row.arrivals > 0) state.report = ReportState::waiting;
  const uint64_t newest = job.reports.empty() ? 0 : job.reports.rbegin()->second.arrivals;
  for (const auto& [generation, report] : job.reports) {
    const bool counts = !again || report.state != ReportState::failed || report.arrivals != newest;
    state.report = counts ? report.state : ReportState::waiting;
    if (counts) state.reported_arrivals = std::max(state.reported_arrivals, report.arrivals);
    if (report.state != ReportState::running) state.report_exit_code = report.exit_code;
    if (is_readable(report.state)) state.report_generation = generation;
  }
  for (const auto& [generation, report] : job.reports) {
    if (report.state == ReportState::running) continue;
    state.ended_generation = generation;
    state.reported_at = report.ended;
    state.report_took = std::max(report.ended - report.started, std::chrono::seconds(0));
  }
  if (again) state.failed_at = job.reports.rbegin()->second.ended;
}

// A capture of which some files took the place of others, and some have not.
bool is_mixed(const Job& job) {
  return std::any_of(job.generations.begin(), job.generations.end(),
                     [](const auto& capture) { return !is_dump(capture.first) && capture.second.size() > 1; });
}

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

}  // namespace

int expected_of(const Job& job, const JobRow& row) {
  const int said = std::max(row.settings.world_size.value_or(0), row.most_world_size);
  return said == 0 ? 0 : std::max(said, job.highest_rank + 1);
}

int captures_of(const Job& job, const JobRow& row) {
  return std::max({1, row.settings.captures.value_or(1), static_cast<int>(captures_begun(job))});
}

bool expects_other_files(const Job& job, const JobRow& row) {
  const auto whole = [&](const JobRow& by) { return int64_t{expected_of(job, by)} * captures_of(job, by); };
  return job.row.arrivals > 0 && whole(row) != whole(job.row);
}

int64_t ranks_arrived(const Job& job) {
  int64_t ranks = 0;
  for (const auto& [capture, files] : job.files) ranks += is_dump(capture) ? 0 : ranks_in(files);
  return ranks;
}

DumpsOfJob dumps_of(const Job& job) {
  DumpsOfJob dumps;
  for (auto capture = job.files.upper_bound(kMostCaptures); capture != job.files.end(); ++capture) {
    for (const auto& [rank, file] : capture->second) {
      ++dumps.count;
      dumps.last = std::max(dumps.last, file.committed_at);
    }
  }
  return dumps;
}

JobState state_of(const Job& job, Time now) {
  JobState out = brief_state_of(job, now);
  fill_in_missing(job, out);
  return out;
}

RunFacts facts_of(const Job& run, int capture, int rank, Time now) {
  RunFacts out;
  out.job = run.row.name;
  out.ended = run.row.ended;
  out.empty = run.files.empty() && run.open_uploads == 0;
  const std::map<int, FileRow>& files = files_of(run, capture);
  out.has_capture = !files.empty() || run.open_of_capture.count(capture) > 0;
  out.ended_at = run.row.ended_at;
  out.last_byte = run.bodies > 0 ? std::max(run.row.last_byte, now) : run.row.last_byte;
  out.deadline = run.row.settings.deadline;
  const auto written = run.row.written.find(capture);
  out.written = written == run.row.written.end() ? Written{run.row.created, std::max(run.row.created, out.last_byte)}
                                                 : written->second;
  out.has_log = run.growing.count({capture, rank}) > 0;
  const auto file = files.find(rank);
  if (file == files.end() || file->second.grows) return out;
  out.file = file->second.digest;
  out.file_came = file->second.committed_at;
  return out;
}

JobState brief_state_of(const Job& job, Time now) {
  JobState out;
  out.name = job.row.name;
  out.owner_uid = job.row.owner_uid;
  out.epoch = job.row.epoch;
  out.expected = expected_of(job, job.row);
  const int asked = job.row.settings.world_size.value_or(job.row.most_world_size);
  out.conflict = out.expected > 0 &&
                 (asked != out.expected || (job.row.least_world_size > 0 && job.row.least_world_size != asked));
  out.arrived = ranks_arrived(job);
  const DumpsOfJob dumps = dumps_of(job);
  out.dumps = dumps.count;
  out.last_dump = dumps.last;
  out.captures = captures_of(job, job.row);
  out.ended = job.row.ended;
  out.bytes = job.bytes;
  out.open_uploads = job.open_uploads - static_cast<int>(job.growing.size());
  out.grows = !job.growing.empty();
  out.report_bytes = job.report_bytes;
  out.mixed = is_mixed(job);
  out.report_waits_for_disk = job.waits_for_disk;
  fill_in_reports(job, is_to_be_tried_again(job), out);
  if (out.report == ReportState::complete && (!is_whole(out) || out.mixed)) out.report = ReportState::partial;
  out.created = job.row.created;
  out.last_byte = job.bodies > 0 ? std::max(job.row.last_byte, now) : job.row.last_byte;
  out.ended_at = job.row.ended_at;
  out.last_arrival = job.row.last_arrival;
  out.arrivals = job.row.arrivals;
  out.settings = job.row.settings;
  return out;
}

bool is_readable(ReportState state) { return state == ReportState::complete || state == ReportState::partial; }

bool is_to_be_tried_again(const Job& job) {
  if (job.reports.empty() || job.reports.rbegin()->second.state != ReportState::failed) return false;
  return job.failed_tries < most_tries(job.reports.rbegin()->second.exit_code);
}

void count_tries(Job& job) {
  if (job.reports.empty()) return;
  const ReportRow& newest = job.reports.rbegin()->second;
  const auto ended_forker = [&](const auto& report) {
    return report.second.exit_code == kForkerGone && report.second.arrivals == newest.arrivals;
  };
  const auto ends = std::count_if(job.reports.begin(), job.reports.end(), ended_forker);
  const bool once_more = newest.exit_code == kForkerGone && ends < 2;
  job.failed_tries = once_more ? 0 : std::max(1, most_tries(newest.exit_code) - 1);
}

}  // namespace skewscope::gather
