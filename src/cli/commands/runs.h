// Runs of a job: each a folder of traces or digests, or a report directory; and what is said of several of them.
#pragma once

#include <string>
#include <vector>

#include "judgement.h"
#include "report_stamp.h"
#include "skewscope/align.h"
#include "skewscope/report.h"
#include "skewscope/scale.h"
#include "src/cli/options/common_options.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

// What commands over several runs share.
struct RunsOptions {
  CommonOptions common;
  IngestOptions ingest;
  AlignMode align = AlignMode::automatic;
  RankTableChoice rank_tables = RankTableChoice::none;
  WriteOptions write;  // no directory: nothing is written
  JudgementOptions judged;
  bool json = false;
};

// Everything but the runs themselves.
void add_runs_options(CLI::App& command, RunsOptions& options);

// By the last part of each path, or as many as tell them apart: "a/traces", "b/traces".
std::vector<std::string> names_of_runs(const std::vector<std::string>& paths);

// Errors: output, where what is written would replace one of the runs.
Result<Done> check_apart(const std::vector<std::string>& paths, const WriteOptions& write);

// The reports of `paths`, so named; correlated where they are not reports yet.
Result<std::vector<NamedReport>> read_runs(const std::vector<std::string>& paths, const RunsOptions& options,
                                           StageTimer& timer);

// Writes, prints and judges a report over runs.
template <class Report>
ExitCode deliver(const Report& report, const RunsOptions& options, const std::string& command_line,
                 const std::string& command,
                 Result<Done> (*write)(const Report&, const ReportStamp&, const WriteOptions&)) {
  const ReportStamp stamp = stamp_of(command_line);
  if (!options.write.directory.empty()) {
    if (const auto written = write(report, stamp, options.write); !written.ok()) return fail(written.error());
  }
  const auto printed = print_report(report, stamp, options.write.directory, options.json, options.common);
  return printed.ok() ? judge(report, options.judged, command, options.common.quiet) : fail(printed.error());
}

}  // namespace skewscope::cli
