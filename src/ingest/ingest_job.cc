// The story of ingest: overrides from the user, every file read and linked, ranks and sessions told apart, one job.
#include <algorithm>
#include <limits>
#include <map>

#include "assemble_job.h"
#include "lost_base_time.h"
#include "read_files.h"
#include "share_files.h"
#include "skewscope/ingest.h"

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

void add_places(const ingest::AssembledJob& assembled, std::vector<FileSummary>& summaries) {
  std::map<std::string, size_t> row_of;
  for (size_t i = 0; i < summaries.size(); ++i) {
    FileSummary& summary = summaries[i];
    row_of.emplace(summary.file, i);
    if (!summary.usable) continue;
    summary.rank = assembled.places[i].rank;
    summary.rank_source = assembled.places[i].rank_source;
    if (summary.world_size == 0) summary.world_size = assembled.job.world_size;
    summary.session = std::max(assembled.places[i].session.value, 0);
  }
  for (const Finding& finding : assembled.job.findings) {
    const auto row = row_of.find(finding.file);
    if (row != row_of.end()) summaries[row->second].problems.push_back(finding.message);
  }
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

}  // namespace

Result<IngestedJob> ingest_job(const std::vector<std::string>& files, const IngestOptions& options, StageTimer& timer,
                               Exchange& exchange) {
  const Result<ingest::RankOverrides> overrides =
      ingest::RankOverrides::make(options.rank_map, options.rank_regex, options.world_size);
  if (const auto all = agree(exchange, failure_of(overrides)); !all.ok()) return all.error();

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
    read = ingest::tell_files(std::move(read).value(), exchange);
  }
  if (!read.ok()) return read.error();
  ingest::tell_apart(read.value());
  // A digest takes the place of the trace it was made of, wherever it lies itself.
  std::stable_sort(read.value().begin(), read.value().end(),
                   [](const TraceFile& a, const TraceFile& b) { return a.evidence.file < b.evidence.file; });
  ingest::judge_files(read.value());
  ingest::restore_base_times(read.value());

  // From here on every usable file is one capture of one process, with calls and metadata; which rank, is open.
  const StageTimer::Scope scope(timer, "ranks, sessions, communicators");
  std::vector<FileSummary> summaries = summarize_files(read.value());
  Result<ingest::AssembledJob> assembled = ingest::assemble_job(read.value(), overrides.value(), options.ranks);
  if (!assembled.ok()) return assembled.error();
  add_places(assembled.value(), summaries);
  leave_to_others(exchange.process(), assembled.value().job);
  return IngestedJob{std::move(assembled.value().job), std::move(summaries)};
}

}  // namespace skewscope
