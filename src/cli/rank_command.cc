#include "rank_command.h"

#include <fmt/format.h>

#include "skewscope/report.h"
#include "skewscope/summarize.h"

namespace skewscope::cli {
namespace {

RankReport report_of(const JobTrace& job) {
  const RankTrace& trace = job.traces.front();
  RankReport report;
  report.file = trace.file;
  report.host = trace.host;
  report.device_name = trace.device_name;
  report.rank = trace.rank.value;
  report.rank_source = trace.rank_source;
  report.world_size = job.world_size;
  report.tables = tabulate_trace(trace, job.strings);
  for (const Finding& finding : job.findings) {
    if (finding.file == trace.file) report.findings.push_back(finding);
  }
  return report;
}

}  // namespace

void add_rank_options(CLI::App& command, RankOptions& options) {
  add_input_options(command, options.input);
  add_cache_options(command, options.input.ingest.cache);
  command.add_flag("--json", options.json, "Every table, as JSON");
  add_common_options(command, options.common);
  command.footer(
      "Examples:\n"
      "  skewscope rank traces/rank3_trace.json.gz\n"
      "  skewscope rank traces/ --ranks 3 --json | jq .streams\n"
      "A directory is read as a job; --ranks names the one of its ranks that is shown.");
}

ExitCode run_rank(const RankOptions& options) {
  StageTimer timer;
  const auto ingested = read_input(options.input, timer);
  if (!ingested.ok()) return fail(ingested.error());
  const JobTrace& job = ingested.value().job;
  if (job.traces.size() > 1) {
    return fail({ErrorKind::usage, fmt::format("these are traces of {} captures or ranks: name one file, or --ranks N",
                                               job.traces.size())});
  }
  const RankReport report = report_of(job);
  if (options.common.timings) print_timings(timer);
  const bool fine = print(options.json ? rank_json(report, SKEWSCOPE_VERSION) : rank_text(report));
  return fine ? kDone : fail({ErrorKind::output, "cannot write to standard output"});
}

}  // namespace skewscope::cli
