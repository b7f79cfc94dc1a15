#include "aligned_trace.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "skewscope/base/printable.h"
#include "skewscope/gather/report_folder.h"
#include "src/cli/commands/merged_trace.h"

namespace skewscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSmallJob = 20'000, kLargestWhole = 5'000'000;  // rows, of some 80 bytes each
constexpr uint64_t kShareOfRoom = 4, kMostWithoutRoom = 1 << 30;

// While it lives, a file that grows beyond `bytes` cannot be written: the process is not ended for it.
class FileLimit {
 public:
  explicit FileLimit(uint64_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{std::min<rlim_t>(bytes, before_.rlim_max), before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

// Of traces that tell when a call ran.
size_t rows_of(const CorrelatedJob& job) {
  size_t rows = 0;
  for (const RankTrace& trace : job.job.traces) {
    if (!trace.durations_only) rows += trace.gpu.size() + trace.launches.size() + trace.calls.size();
  }
  return rows;
}

MergeOptions aligned_options(bool whole, std::vector<MergeWindow> findings) {
  MergeOptions options;
  for (const MergeCategory shown : {MergeCategory::gpu, MergeCategory::launches, MergeCategory::steps}) {
    options.categories[static_cast<size_t>(shown)] = true;
  }
  if (!whole) {
    options.excerpts = kWorstWaitsOfAll;
    options.findings = std::move(findings);
  }
  return options;
}

}  // namespace

void write_aligned_trace(const ReportTask& task, const CorrelatedJob& job, std::vector<MergeWindow> findings) {
  const size_t rows = rows_of(job);
  if (rows == 0 || task.aligned_trace == AlignedTrace::off) return;
  const bool whole = rows <= (task.aligned_trace == AlignedTrace::whole ? kLargestWhole : kSmallJob);
  const std::string path = task.output + "/" + kAlignedTrace, unfinished = path + ".partial";
  const DetailSource no_details = [](const RankTrace&, const ShowDetails&) -> Result<bool> { return false; };
  const auto merged = [&] {
    const FileLimit limit(task.room == 0 ? kMostWithoutRoom : task.room / kShareOfRoom);
    return merge_trace(job, aligned_options(whole, std::move(findings)), no_details, TraceFormat::pftrace, unfinished);
  }();
  std::error_code failed;
  if (merged.ok()) fs::rename(unfinished, path, failed);
  if (!merged.ok() || failed) {
    const std::string why = merged.ok() ? failed.message() : merged.error().message;
    fmt::print(stderr, "there is no aligned trace: {}\n", printable(why));
    fs::remove(unfinished, failed);
    return;
  }
  const char* const what = whole ? "The whole job" : "Excerpts around the report's findings and the worst waits";
  std::ofstream(task.output + "/" + kAlignedTraceText, std::ios::binary)
      << what << ": " << words_of(merged.value(), job, path, !whole);
}

}  // namespace skewscope::cli
