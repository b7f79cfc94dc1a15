// Reports kept in the user's cache: the same question about the same files is answered by a copy.
//
// Problem: reports are made again and again of what has not changed (by scripts, by people who deleted the last one);
// from digests that still takes matching, alignment, blame and writing. Idea: as compilers' caches do it, the files of
// a report are kept with the question they answer: build of the program, all flags that a report depends on, every file
// and its mark (skewscope/ingest/cache.h). Flags count by default: only those listed in kept_report.cc do not. Why
// right: a report is equal for any thread count, and its stamp, the only part that differs between equal runs, is made
// again (copy_report). Any failure means that nothing is kept.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "skewscope/ingest/cache.h"
#include "skewscope/report.h"

namespace skewscope::cli {

// The flags of a command line that a report depends on, as text; "" where one names a file without a mark.
std::string flags_that_matter(const CLI::App& command);

class KeptReport {
 public:
  // How the summary is shown: one kept for another width or without colours is none for this terminal.
  struct Look {
    bool color = false;
    size_t columns = kSummaryColumns;
  };

  // `flags`: of flags_that_matter. `files`: of discover_files.
  KeptReport(const std::string& flags, const std::vector<std::string>& files, const CacheOptions& cache, Look look);

  // The summary of the kept report, which now lies where `write` says, too; nullopt where none is kept, or where it
  // could not be copied: making it will tell why.
  std::optional<std::string> give(const ReportStamp& stamp, const WriteOptions& write) const;

  // Keeps the report that lies in `directory`, where nobody else writes; nothing, where a file has changed since this
  // was made.
  void keep(const std::string& directory, const JobReport& report, const ReportStamp& stamp) const;

 private:
  std::string folder(const std::string& more = "") const;
  void keep_under_name(const std::string& directory, const JobReport& report, const ReportStamp& stamp,
                       const std::vector<ReportFile>& files) const;

  std::string flags_;
  std::vector<std::string> files_;
  CacheOptions cache_;
  Look look_;
  std::string question_;  // "": nothing can be kept
};

}  // namespace skewscope::cli
