// One trace on a terminal: what it is, where the GPU's time went, by step, by stream, what was launched, what ran.
#include <fmt/format.h>

#include <algorithm>

#include "kernel_label.h"
#include "rank_sections.h"
#include "skewscope/base/human_units.h"
#include "skewscope/base/text_columns.h"
#include "skewscope/report.h"

namespace skewscope {
namespace report {
namespace {

constexpr size_t kMostSteps = 8, kMostStreams = 6, kMostKernels = 10;

std::string head(const RankReport& report) {
  std::string text = fmt::format("rank {}", report.rank);
  if (report.world_size > 0) text += fmt::format(" of {}", report.world_size);
  if (!report.rank_source.empty()) text += " (" + report.rank_source + ")";
  if (!report.host.empty()) text += ", " + report.host;
  if (!report.device_name.empty()) text += ", " + report.device_name;
  return labelled("Trace", fit_tail(report.file, kRankColumns - kRankLabel)) + labelled("", text);
}

std::string timeline_text(const TimelineRow& whole, size_t devices) {
  const RankSummary& t = whole.timeline;
  if (whole.gpu_rows == 0)
    return labelled("GPU time", "no GPU rows: a CPU-only process, or recorded without GPU activity");
  std::string text = labelled(
      "GPU time", fmt::format("{}: computing {}, exposed communication {}", human_duration(t.total_ns),
                              share_of(t.compute_ns, t.total_ns), share_of(t.exposed_communication_ns, t.total_ns)));
  text += labelled("", fmt::format("exposed copies {}, idle {}; {} GPU rows", share_of(t.exposed_memcpy_ns, t.total_ns),
                                   share_of(t.idle_ns, t.total_ns), whole.gpu_rows));
  if (devices > 1) text += labelled("", fmt::format("{} devices taken as one; each by itself is below", devices));
  if (t.communication_ns > 0) {
    text += labelled("", fmt::format("communication {}, {} overlapped with compute", human_duration(t.communication_ns),
                                     share_of(t.communication_ns - t.exposed_communication_ns, t.communication_ns)));
  }
  if (t.orphan_rows > 0) {
    text += labelled("", fmt::format("{} rows ({}) have no launch in the trace; counted", t.orphan_rows,
                                     human_duration(t.orphan_ns)));
  }
  return text;
}

// Parts of a device or step, one line each.
std::string parts_table(const char* title, const std::vector<const TimelineRow*>& rows, bool steps) {
  if (rows.empty()) return "";
  const char* const what = steps ? "host" : "";
  std::string text =
      fmt::format("\n{:<8}{:>9}{:>9}{:>7}{:>10}{:>10}{:>9}{:>9}{:>9}\n", title, steps ? "on GPU" : "window", what,
                  "rows", "computing", "communic.", "exposed", "copies", "idle");
  for (size_t i = 0; i < std::min(rows.size(), kMostSteps); ++i) {
    const RankSummary& t = rows[i]->timeline;
    const std::string name = rows[i]->place != StepPlace::step
                                 ? to_string(rows[i]->place)
                                 : std::to_string(steps ? rows[i]->step : rows[i]->device);
    text +=
        fmt::format("  {:<6}{:>9}{:>9}{:>7}{:>10}{:>10}{:>9}{:>9}{:>9}\n", name, human_duration(t.total_ns),
                    rows[i]->host_ns < 0 ? "" : human_duration(rows[i]->host_ns), rows[i]->gpu_rows,
                    human_duration(t.compute_ns), human_duration(t.communication_ns),
                    human_duration(t.exposed_communication_ns), human_duration(t.memcpy_ns), human_duration(t.idle_ns));
  }
  return text + and_more(rows.size(), kMostSteps, steps ? "steps" : "devices");
}

std::string streams_table(const RankTables& tables) {
  if (tables.streams.empty()) return "";
  std::vector<size_t> order(tables.streams.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tables.streams[a].busy_ns > tables.streams[b].busy_ns; });
  std::string text = fmt::format("\n{:<12}{:>8}{:>11}{:>13}{:>13}{:>12}{:>9}\n", "Stream", "rows", "busy", "wait: host",
                                 "wait: kernel", "wait: other", "deepest");
  for (size_t k = 0; k < std::min(order.size(), kMostStreams); ++k) {
    const StreamIdle& s = tables.streams[order[k]];
    text += fmt::format("  {:<10}{:>8}{:>11}{:>13}{:>13}{:>12}{:>9}\n", fmt::format("{}.{}", s.device, s.stream),
                        s.gpu_rows, human_duration(s.busy_ns), human_duration(s.host_wait.total_ns),
                        human_duration(s.kernel_wait.total_ns), human_duration(s.other.total_ns),
                        static_cast<int64_t>(tables.queues[order[k]].depth.most));
  }
  return text + and_more(order.size(), kMostStreams, "streams");
}

std::string launches_text(const LaunchTotals& l) {
  if (l.rows == 0) return "";
  const int64_t mean_delay_ns = l.delay_ns / l.rows, mean_call_ns = l.host_ns / l.rows;
  return "\n" +
         labelled("Launches", fmt::format("{}: call {} and delay {} on average, longest delay {}", l.rows,
                                          human_duration(mean_call_ns), human_duration(mean_delay_ns),
                                          human_duration(l.longest_delay_ns))) +
         labelled("", fmt::format("{} rows are shorter than the call that launched them", l.short_rows)) +
         labelled("", fmt::format("{} rows have a call of over 50 us, {} start over 100 us late", l.slow_calls,
                                  l.late_starts));
}

std::string kernels_table(const RankTables& tables) {
  if (tables.kernels.empty()) return "";
  int64_t all_ns = 0;
  for (const KernelTotals& k : tables.kernels) all_ns += k.total_ns;
  std::string text = fmt::format("\n{:<34}{:>7}{:>10}{:>7}{:>11}{:>11}\n", "Most time in", "count", "total", "share",
                                 "mean", "longest");
  for (size_t i = 0; i < std::min(tables.kernels.size(), kMostKernels); ++i) {
    const KernelTotals& k = tables.kernels[i];
    text += fmt::format("  {}{:>7}{:>10}{:>7}{:>11}{:>11}\n", pad(kernel_label(k.name), 32), k.count,
                        human_duration(k.total_ns), share_of(k.total_ns, all_ns),
                        human_duration(static_cast<int64_t>(k.mean_ns())), human_duration(k.longest_ns));
  }
  return text + and_more(tables.kernels.size(), kMostKernels, "names");
}

std::string findings_text(const Findings& findings) {
  std::string text;
  for (const Finding& f : findings) {
    if (f.severity != Severity::info) text += wrapped(f.message, 2);
  }
  return text.empty() ? "" : "\nWarnings\n" + text;
}

}  // namespace
}  // namespace report

std::string rank_text(const RankReport& report) {
  std::vector<const TimelineRow*> devices, steps;
  for (const TimelineRow& row : report.tables.timeline) {
    if (row.device >= 0) devices.push_back(&row);
    if (row.step >= 0 || row.place != StepPlace::step) steps.push_back(&row);
  }
  if (report.tables.timeline.front().gpu_rows == 0) steps.clear();
  return report::head(report) + report::timeline_text(report.tables.timeline.front(), devices.size()) +
         report::advice_section(report.advice) + report::parts_table("Device", devices, false) +
         report::parts_table("Step", steps, true) + report::streams_table(report.tables) +
         report::launches_text(report.tables.launches) + report::details_section(report.tables) +
         report::path_section(report.operators.critical_path) + report::kernels_table(report.tables) +
         report::operators_section(report.operators) + report::findings_text(report.findings);
}

}  // namespace skewscope
