#include "merged_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "skewscope/base/human_units.h"
#include "skewscope/base/printable.h"
#include "skewscope/report.h"

namespace skewscope::cli {
namespace {

constexpr int64_t kDriftToTell_ns = 1000;
constexpr size_t kMostWindowsTold = 10, kColumns = 80;

}  // namespace

std::vector<MergeWindow> windows_of(const JobReport& report) {
  std::vector<MergeWindow> windows;
  for (TimedFinding& finding : timed_findings(report)) {
    MergeWindow window;
    window.from = JobNs{report.job.window_start_ns + finding.start_ns};
    window.to = JobNs{report.job.window_start_ns + finding.end_ns};
    window.finding = std::move(finding.finding);
    window.words = std::move(finding.words);
    window.ranks = std::move(finding.ranks);
    if (finding.instance >= 0) window.instance = InstanceId(finding.instance);
    windows.push_back(std::move(window));
  }
  return windows;
}

std::string words_of(const MergeResult& result, const CorrelatedJob& job, const std::string& path, bool excerpts) {
  std::error_code ignored;
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path, ignored));
  std::string text = fmt::format("{} of {} traces, {}\n", result.traces, job.job.traces.size(), human_bytes(bytes));
  std::string counts;
  for (size_t i = 0; i < kMergeCategories; ++i) {
    if (result.events[i] == 0) continue;
    counts +=
        fmt::format("{}{} {}", counts.empty() ? "" : ", ", to_string(static_cast<MergeCategory>(i)), result.events[i]);
  }
  if (!counts.empty()) text += fmt::format("Rows: {}; arrows between ranks: {}\n", counts, result.arrows);
  if (excerpts) {
    text += fmt::format("Excerpts: {} of {} in {} windows\n", human_duration(result.shown_ns()),
                        human_duration(job.clocks.window_ns), result.windows.size());
    for (size_t i = 0; i < std::min(kMostWindowsTold, result.windows.size()); ++i) {
      const MergeWindow& window = result.windows[i];
      std::string line = fmt::format("  {} at {}: {}", window.finding,
                                     human_duration(window.from.ns - job.clocks.reference_ns), printable(window.words));
      if (line.size() > kColumns) line = line.substr(0, kColumns - 3) + "...";
      text += line + "\n";
    }
    if (result.windows.size() > kMostWindowsTold) {
      text += fmt::format("  and {} more\n", result.windows.size() - kMostWindowsTold);
    }
  }
  if (result.components > 1) {
    text += fmt::format("{} components of ranks, clocks not compared: their order in time means nothing\n",
                        result.components);
  }
  const auto untied = std::count_if(job.clocks.clocks.begin(), job.clocks.clocks.end(),
                                    [](const TraceClock& clock) { return !clock.aligned; });
  if (untied > 0) text += fmt::format("Clocks: {} traces could not be aligned and stay as recorded\n", untied);
  if (result.largest_drift_ns > kDriftToTell_ns) {
    text += fmt::format("Clocks: drift moves a trace by up to {} against its one offset; a .pftrace follows it\n",
                        human_duration(result.largest_drift_ns));
  }
  return text + "Open it at https://ui.perfetto.dev\n";
}

}  // namespace skewscope::cli
