// Runs of a job: each a folder of traces or digests, or a report directory; and what is said of several of them.
#pragma once

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common_options.h"
#include "exit_code.h"
#include "report_stamp.h"
#include "skewscope/align.h"
#include "skewscope/report.h"
#include "skewscope/scale.h"

namespace skewscope::cli {

// What commands over several runs share.
struct RunsOptions {
  CommonOptions common;
  IngestOptions ingest;
  AlignMode align = AlignMode::automatic;
  RankTableChoice rank_tables = RankTableChoice::none;
  WriteOptions write;  // no directory: nothing is written
  std::vector<std::string> fail_on;
  bool strict = false, json = false;
};

// Everything but the runs themselves.
void add_runs_options(CLI::App& command, RunsOptions& options);

// The reports of `paths`, named after the last part of each; correlated where they are not reports yet.
Result<std::vector<NamedReport>> read_runs(const std::vector<std::string>& paths, const RunsOptions& options,
                                           StageTimer& timer);

// What can be refused before the work: the output, and conditions.
template <class Report>
Result<Done> check_before(const RunsOptions& options) {
  for (const std::string& expression : options.fail_on) {
    if (const auto known = condition_holds(Report(), expression); !known.ok()) return known.error();
  }
  return options.write.directory.empty() ? Result<Done>(Done{}) : check_output(options.write);
}

// Writes, prints and judges a report over runs.
template <class Report>
ExitCode deliver(const Report& report, const RunsOptions& options, const std::string& command_line,
                 Result<Done> (*write)(const Report&, const ReportStamp&, const WriteOptions&)) {
  const ReportStamp stamp = stamp_of(command_line);
  if (!options.write.directory.empty()) {
    if (const auto written = write(report, stamp, options.write); !written.ok()) return fail(written.error());
  }
  if (options.json || !options.common.quiet) {
    const bool color = use_color(options.common.color, STDOUT_FILENO);
    const std::string text =
        options.json ? to_json(report, stamp) : terminal_summary(report, options.write.directory, color);
    if (!print(text)) return fail({ErrorKind::output, "cannot write to standard output"});
  }
  bool failed = false;
  for (const std::string& expression : options.fail_on) {
    const auto holds = condition_holds(report, expression);
    if (!holds.ok()) return fail(holds.error());
    if (holds.value()) spdlog::error("--fail-on '{}' holds", expression);
    failed = failed || holds.value();
  }
  const bool doubtful = std::any_of(report.diagnostics.begin(), report.diagnostics.end(),
                                    [](const Finding& f) { return f.severity != Severity::info; });
  if (options.strict && doubtful) return kInPart;
  return failed ? kConditionHolds : kDone;
}

}  // namespace skewscope::cli
