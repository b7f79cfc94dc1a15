// Problem: several jobs lie in one folder, and a report is of one. Idea: the user says which. One case says it itself:
// a run that is whole and, beside it, what an earlier, larger run left: a rerun overwrites files of the same names, so
// only ranks that the rerun does not have are still there, in its folder, older than it. Nobody means those.
#include "choose_job.h"

#include <algorithm>
#include <set>

#include "assemble_job.h"
#include "job_clues.h"

namespace skewscope::ingest {
namespace {

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
  constexpr size_t kMost = 8;
  std::string names;
  for (size_t k = 0; k < std::min(jobs.size(), kMost); ++k) names += (k == 0 ? "" : ", ") + jobs[k].job.name;
  if (jobs.size() > kMost) names += " and " + std::to_string(jobs.size() - kMost) + " more";
  return names;
}

std::string seconds_of(int64_t ns) {
  const int64_t seconds = ns / 1'000'000'000;
  constexpr int64_t kHour = 3600;
  if (seconds >= 2 * kHour) return std::to_string(seconds / kHour) + " h";
  if (seconds >= 120) return std::to_string(seconds / 60) + " min";
  return std::to_string(seconds) + " s";
}

}  // namespace

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
      return &other == &jobs[k] || left_over(files, jobs[k], other);
    });
    if (alone_counts) return k;
  }
  if (!name.empty()) {
    return Error{ErrorKind::usage, "--job: none of the jobs found is called '" + name + "': " + names_of_jobs(jobs)};
  }
  return Error{ErrorKind::no_input,
               std::to_string(jobs.size()) + " jobs here (" + names_of_jobs(jobs) + "): choose one with --job NAME"};
}

Finding not_reported(const JobFiles& reported, const JobFiles& other, bool is_left_over) {
  const FoundJob &own = reported.job, &job = other.job;
  const int64_t gap_ns = own.start_ns - job.start_ns;
  std::string message = "another run, not in this report: rank " + as_ranges(job.ranks);
  if (job.world_size > 0) message += " of a world of " + std::to_string(job.world_size);
  if (job.start_ns > 0 && own.start_ns > 0) {
    message += ", recorded " + seconds_of(std::max(gap_ns, -gap_ns)) + (gap_ns > 0 ? " earlier" : " later");
  }
  if (is_left_over) message += "; this run, of " + std::to_string(own.world_size) + ", has overwritten the rest";
  return {is_left_over ? Severity::warning : Severity::info,  "another-job", job.first_file, Rank(), -1, job.files,
          message + " (--job " + job.name + " reports on it)"};
}

Finding copy_left_out(const TraceFile& copy, const TraceFile& original) {
  return {Severity::info,
          "copied-trace",
          copy.evidence.file,
          Rank(),
          -1,
          1,
          "left out: a copy of another file's trace, with the same GPU rows at the same times. Used instead: " +
              original.evidence.file};
}

}  // namespace skewscope::ingest
