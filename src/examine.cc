// The story of one GPU: find the file of the rank, read it with the details of its rows, make its tables.
#include "skewscope/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "skewscope/summarize.h"

namespace skewscope {
namespace {

// What to choose from: ranks, or captures of one.
std::string choices_in(const JobTrace& job) {
  const Rank rank = job.traces.front().rank;
  const bool one_rank =
      std::all_of(job.traces.begin(), job.traces.end(), [&](const RankTrace& trace) { return trace.rank == rank; });
  std::string files;
  for (const RankTrace& trace : job.traces) files += (files.empty() ? "" : ", ") + trace.file;
  const bool one_file = std::all_of(job.traces.begin(), job.traces.end(), [&](const RankTrace& trace) {
    return file_of_part(trace.file) == file_of_part(job.traces.front().file);
  });
  if (!one_rank && !one_file)
    return fmt::format("these are traces of {} ranks: name one file, or --ranks N", job.traces.size());
  if (!one_rank) return fmt::format("the file holds {} ranks: name one of {}, or --ranks N", job.traces.size(), files);
  return fmt::format("these are {} captures of rank {}: name one of {}", job.traces.size(), rank.value, files);
}

// The one trace that the options leave.
Result<std::string> file_of(const JobTrace& job) {
  if (job.traces.size() > 1) return Error{ErrorKind::usage, choices_in(job)};
  return job.traces.front().file;
}

// Who it is; the tables are still to come.
RankReport identity_of(const JobTrace& job) {
  const RankTrace& trace = job.traces.front();
  RankReport report;
  report.file = trace.file;
  report.host = trace.host;
  report.device_name = trace.device_name;
  report.rank = trace.rank.value;
  report.rank_source = trace.rank_source;
  report.world_size = job.world_size;
  for (const Finding& finding : job.findings) {
    if (finding.file == trace.file) report.findings.push_back(finding);
  }
  return report;
}

// A digest has no details: nothing is made of it here.
void tabulate(const LinkedTrace& linked, const ExamineOptions& options, RankReport& report) {
  if (!linked.detail) return;
  report.tables = tabulate_trace(linked.trace, linked.strings, &*linked.detail);
  OperatorOptions wanted;
  wanted.device = efficiency::find_device(options.devices, linked.trace.device_name);
  wanted.communicating = options.ingest.kernels.get();
  report.operators = tabulate_operators(linked.trace, *linked.detail, linked.strings, wanted);
}

}  // namespace

Result<RankReport> examine(const std::vector<std::string>& paths, const ExamineOptions& options, StageTimer& timer) {
  const Result<std::vector<std::string>> files = discover_files(paths);
  if (!files.ok()) return files.error();

  // Which of several files is the rank's is known when all have been read, without details.
  std::optional<RankReport> known;
  std::vector<std::string> only = files.value();
  if (only.size() > 1) {
    const auto job = ingest_job(only, options.ingest, timer);
    if (!job.ok()) return job.error();
    const Result<std::string> file = file_of(job.value().job);
    if (!file.ok()) return file.error();
    known = identity_of(job.value().job);
    only = {file.value()};
  }

  // From here on there is one file; its details last as long as the tables of its ranks are made, one after the other.
  std::map<std::string, RankReport> tables_of;
  IngestOptions detailed = options.ingest;
  if (known) detailed.ranks.clear();
  detailed.bytes_while_details_last = [](const LinkedTrace& linked) {
    return bytes_to_tabulate(linked.trace, *linked.detail, linked.strings);
  };
  detailed.while_details_last = [&](const TraceFile& file) {
    tabulate(file.linked, options, tables_of[file.evidence.file]);
  };
  const auto job = ingest_job(only, detailed, timer);
  if (!job.ok()) return job.error();
  const Result<std::string> file = file_of(job.value().job);
  if (!file.ok()) return file.error();
  RankReport& tables = tables_of[file.value()];
  RankReport report = known ? *known : identity_of(job.value().job);
  if (tables.tables.detailed) {
    report.tables = std::move(tables.tables);
    report.operators = std::move(tables.operators);
  } else {
    report.tables = tabulate_trace(job.value().job.traces.front(), job.value().job.strings);
    report.findings.push_back(
        finding_of_rank(Severity::warning, "no-details", report.file, Rank(report.rank),
                        "a digest keeps GPU rows and launches only: operators, work, copies, host calls and "
                        "findings about them need the trace itself"));
  }

  if (report.tables.timeline.front().gpu_rows == 0) {
    report.findings.push_back(finding_of_rank(Severity::info, "no-gpu-rows", report.file, Rank(report.rank),
                                              "no GPU rows: a CPU-only process, or recorded without GPU activity"));
  }

  // From here on all tables are there: what would an expert say of them?
  report.advice = advice_on(report.tables, report.operators, options.rules);
  return report;
}

}  // namespace skewscope
