// Problem: several jobs lie in one folder, and a report is of one. Idea: the user says which. One case says it itself:
// a single run is whole, and in its own folders lie parts of others: what an earlier run left that a rerun did not
// overwrite, or an engine of which a rank is missing. So does another: one script ran again and again into one folder,
// and its newest whole run is meant. Whoever means the others says so; they are named, and how to see them.
#include "choose_job.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "job_clues.h"
#include "src/ingest/text/number_list.h"

namespace skewscope::ingest {
namespace {

constexpr size_t kMostNamed = 8;  // jobs, in a message

bool is_whole(const FoundJob& job) {
  return job.world_size > 0 && std::ssize(job.ranks) == job.world_size && job.ranks.front() == 0 &&
         job.ranks.back() == job.world_size - 1;
}

// Where the files lie and what their names are but for numbers.
std::set<std::pair<std::string, std::string>> places_of(const std::vector<TraceFile>& files, const JobFiles& job) {
  std::set<std::pair<std::string, std::string>> places;
  for (const size_t i : job.rows) places.emplace(files[i].evidence.folder, clues_of(files[i]).frame);
  return places;
}

std::string names_of_jobs(const std::vector<JobFiles>& jobs) {
  std::string names;
  for (size_t k = 0; k < std::min(jobs.size(), kMostNamed); ++k) names += (k == 0 ? "" : ", ") + jobs[k].job.name;
  if (jobs.size() > kMostNamed) names += " and " + std::to_string(jobs.size() - kMostNamed) + " more";
  return names;
}

std::string seconds_of(int64_t ns) {
  const int64_t seconds = ns / 1'000'000'000;
  constexpr int64_t kHour = 3600;
  if (seconds >= 2 * kHour) return std::to_string(seconds / kHour) + " h";
  if (seconds >= 120) return std::to_string(seconds / 60) + " min";
  return std::to_string(seconds) + " s";
}

// Lies in folders of the whole one, and is not whole itself.
bool is_beside(const std::vector<TraceFile>& files, const JobFiles& whole, const JobFiles& other) {
  std::set<std::string> folders;
  for (const size_t i : whole.rows) folders.insert(files[i].evidence.folder);
  return !is_whole(other.job) && std::all_of(other.rows.begin(), other.rows.end(),
                                             [&](size_t i) { return folders.count(files[i].evidence.folder) > 0; });
}

// Whole, as the other is, and left by the same script before it: same folders, names but for numbers, world, and apart
// in time. Engines, one after the other, are no reruns.
bool is_rerun_of(const std::vector<TraceFile>& files, const JobFiles& later, const JobFiles& earlier) {
  const FoundJob &a = earlier.job, &b = later.job;
  if (!is_whole(a) || !is_whole(b) || a.world_size != b.world_size) return false;
  if (a.start_ns == 0 || a.start_ns + a.duration_ns > b.start_ns) return false;
  const auto of_engine = [&](size_t i) { return is_called_an_engines(clues_of(files[i])); };
  return std::none_of(later.rows.begin(), later.rows.end(), of_engine) &&
         places_of(files, later) == places_of(files, earlier);
}

// What is called by this name in a shell.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("/._-+=:,@%").find(c) != std::string_view::npos;
  });
  return plain ? word : "'" + word + "'";
}

}  // namespace

std::string command_for(const std::string& folder, const FoundJob& job) {
  return "skewscope report " + quoted(folder.empty() ? "." : folder) + " --job " + quoted(job.name);
}

std::string folder_of_all(const std::vector<TraceFile>& files) {
  namespace fs = std::filesystem;
  std::optional<fs::path> all;
  for (const TraceFile& file : files) {
    const fs::path folder = fs::path(file.evidence.file).parent_path();
    if (!all) all = folder;
    const auto differ = std::mismatch(all->begin(), all->end(), folder.begin(), folder.end()).first;
    all = std::accumulate(all->begin(), differ, fs::path(), std::divides<>());
  }
  return all ? all->string() : "";
}

bool left_over(const std::vector<TraceFile>& files, const JobFiles& whole, const JobFiles& other) {
  if (!is_whole(whole.job) || is_whole(other.job)) return false;
  if (other.job.start_ns == 0 || other.job.start_ns + other.job.duration_ns > whole.job.start_ns) return false;
  if (other.job.ranks.front() < whole.job.world_size) return false;
  const auto own = places_of(files, whole), places = places_of(files, other);
  return std::includes(own.begin(), own.end(), places.begin(), places.end());
}

Result<size_t> choose_job(const std::vector<TraceFile>& files, const std::vector<JobFiles>& jobs,
                          const std::string& name) {
  if (jobs.size() < 2) return size_t{0};
  for (size_t k = 0; k < jobs.size(); ++k) {
    if (jobs[k].job.name == name) return k;
  }
  for (size_t k = 0; k < jobs.size(); ++k) {
    const bool alone_counts = std::all_of(jobs.begin(), jobs.end(), [&](const JobFiles& other) {
      return &other == &jobs[k] || is_beside(files, jobs[k], other) || is_rerun_of(files, jobs[k], other);
    });
    if (alone_counts && is_whole(jobs[k].job)) return k;
  }
  if (!name.empty()) {
    return Error{ErrorKind::usage, "--job: none of the jobs found is called '" + name + "': " + names_of_jobs(jobs)};
  }
  const std::string folder = folder_of_all(files);
  std::string message =
      std::to_string(jobs.size()) + " jobs here (" + names_of_jobs(jobs) + "): choose one with --job NAME";
  for (size_t k = 0; k < std::min(jobs.size(), kMostNamed); ++k) {
    message += (k == 0 ? ": " : "; ") + command_for(folder, jobs[k].job);
  }
  return Error{ErrorKind::no_input, message};
}

Finding not_reported(const std::vector<TraceFile>& files, const JobFiles& reported, const JobFiles& other) {
  const FoundJob &own = reported.job, &job = other.job;
  const int64_t gap_ns = own.start_ns - job.start_ns;
  std::string message =
      "another run, not in this report (" + command_for(folder_of_all(files), job) + "): rank " + as_ranges(job.ranks);
  if (job.world_size > 0) message += " of a world of " + std::to_string(job.world_size);
  if (job.start_ns > 0 && own.start_ns > 0 && std::max(gap_ns, -gap_ns) >= 1'000'000'000) {
    message += ", recorded " + seconds_of(std::max(gap_ns, -gap_ns)) + (gap_ns > 0 ? " earlier" : " later");
  }
  const bool is_left_over = left_over(files, reported, other);
  if (is_left_over) message += "; this run, of " + std::to_string(own.world_size) + ", has overwritten the rest";
  const bool unasked = is_whole(own) && (is_beside(files, reported, other) || is_rerun_of(files, reported, other));
  return {unasked ? Severity::warning : Severity::info, "another-job", job.first_file, Rank(), -1, job.files, message};
}

Finding copy_left_out(const TraceFile& copy, const TraceFile& original) {
  return finding_of_file(Severity::info, "copied-trace", copy.evidence.file,
                         "left out: a copy of another trace, with the same GPU rows at the same times. Used instead: " +
                             original.evidence.file);
}

}  // namespace skewscope::ingest
