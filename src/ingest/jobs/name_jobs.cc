// Problem: who has to choose a job needs a word for it that he can see. Idea: what tells jobs apart for people tells it
// here: the sub-folder; else how the names of the files begin, as far as it takes to tell them apart ("dp0", "dp1");
// else a number, by time.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <set>

#include "find_jobs.h"

namespace skewscope::ingest {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

bool all_differ(const Names& names) {
  const std::set<std::string> different(names.begin(), names.end());
  return different.size() == names.size() && different.count("") == 0;
}

fs::path shared_part(const fs::path& a, const fs::path& b) {
  fs::path shared;
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  for (auto part = a.begin(); part != differ.first; ++part) shared /= *part;
  return shared;
}

// A job that lies in the folder of all is called as that is.
Names by_folder(const std::vector<TraceFile>& files, const std::vector<JobFiles>& jobs) {
  std::vector<fs::path> folders;
  for (const JobFiles& job : jobs) {
    fs::path folder = files[job.rows.front()].evidence.folder;
    for (const size_t i : job.rows) folder = shared_part(folder, files[i].evidence.folder);
    folders.push_back(folder);
  }
  fs::path all = folders.front();
  for (const fs::path& folder : folders) all = shared_part(all, folder);
  Names names;
  for (const fs::path& folder : folders) {
    const fs::path below = folder.lexically_relative(all);
    names.push_back(below == "." ? all.filename().string() : below.string());
  }
  return names;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Where a word of the text ends: "dp0", "dp0_pp0", ...
std::vector<size_t> ends_of_words(const std::string& text) {
  std::vector<size_t> ends;
  for (size_t i = 1; i <= text.size(); ++i) {
    if (is_word(text[i - 1]) && (i == text.size() || !is_word(text[i]))) ends.push_back(i);
  }
  return ends;
}

// How the names of the job's files begin, up to the end of a word in all of them.
std::string common_beginning(const std::vector<TraceFile>& files, const JobFiles& job) {
  const auto name_of = [&](size_t i) { return fs::path(files[i].evidence.file).filename().string(); };
  const std::string first = name_of(job.rows.front());
  std::vector<size_t> ends = ends_of_words(first);
  if (job.rows.size() == 1 && !ends.empty()) ends.pop_back();  // not with the suffix
  for (const size_t i : job.rows) {
    const std::string name = name_of(i);
    std::erase_if(ends, [&](size_t end) {
      return name.compare(0, end, first, 0, end) != 0 || (end < name.size() && is_word(name[end]));
    });
  }
  return ends.empty() ? "" : first.substr(0, ends.back());
}

// As many words as tell them apart.
Names shortest(const Names& names) {
  for (size_t words = 1;; ++words) {
    Names shorter;
    bool all = true;
    for (const std::string& name : names) {
      const std::vector<size_t> ends = ends_of_words(name);
      all = all && ends.size() <= words;
      shorter.push_back(ends.size() <= words ? name : name.substr(0, ends[words - 1]));
    }
    if (all || all_differ(shorter)) return shorter;
  }
}

Names by_beginning(const std::vector<TraceFile>& files, const std::vector<JobFiles>& jobs) {
  Names names;
  for (const JobFiles& job : jobs) names.push_back(common_beginning(files, job));
  return all_differ(names) ? shortest(names) : names;
}

// The one recorded name of the traces.
Names by_recorded_name(const std::vector<TraceFile>& files, const std::vector<JobFiles>& jobs) {
  Names names;
  for (const JobFiles& job : jobs) {
    const std::string& first = files[job.rows.front()].job_name;
    const bool one =
        std::all_of(job.rows.begin(), job.rows.end(), [&](size_t i) { return files[i].job_name == first; });
    names.push_back(one ? first : "");
  }
  return names;
}

}  // namespace

void name_jobs(const std::vector<TraceFile>& files, std::vector<JobFiles>& jobs) {
  if (jobs.empty()) return;
  Names names;
  for (const auto& rule : {by_folder, by_beginning, by_recorded_name}) {
    names = rule(files, jobs);
    if (all_differ(names)) break;
  }
  const bool named = all_differ(names);
  for (size_t k = 0; k < jobs.size(); ++k) jobs[k].job.name = named ? names[k] : "job-" + std::to_string(k + 1);
}

}  // namespace skewscope::ingest
