// What GPU rows, launches and calls say, and the findings.
#include "rank_sections.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel_label.h"
#include "skewscope/base/human_units.h"
#include "skewscope/base/text_columns.h"

namespace skewscope::report {
namespace {

constexpr size_t kMostAdvice = 6, kMostSteps = 6, kMostStreams = 6, kMostKernels = 6, kMostCopies = 4;
constexpr size_t kWideColumns = 110;  // from here on there is room for a library

// The evidence with most time.
std::string evidence_text(const Advice& advice) {
  if (advice.evidence.empty()) return "";
  const Evidence& most = advice.evidence.front();
  std::string text = fmt::format("most: {}", fit(kernel_label(most.what), 60));
  if (most.count > 1) text += fmt::format(", {} times", most.count);
  return text + fmt::format(", {}", human_duration(most.time_ns));
}

std::string duration_or_dash(int64_t ns) { return ns < 0 ? "-" : human_duration(ns); }

// Parts of a device or step, one line each.
std::string parts_text(const RankTextOptions& options, const char* title, const std::vector<const TimelineRow*>& rows,
                       bool steps) {
  RankTable table(options, title,
                  {{"on GPU", 9},
                   {"on CPU", 9},
                   {"rows", 7},
                   {"computing", 10},
                   {"commun.", 9},
                   {"exposed", 9},
                   {"copies", 9},
                   {"idle", 9}});
  for (size_t i = 0; i < std::min(rows.size(), table.most(kMostSteps)); ++i) {
    const RankSummary& t = rows[i]->timeline;
    const std::string name = rows[i]->place != StepPlace::step
                                 ? to_string(rows[i]->place)
                                 : std::to_string(steps ? rows[i]->step : rows[i]->device);
    table.add(name,
              {human_duration(t.total_ns), duration_or_dash(rows[i]->host_ns), std::to_string(rows[i]->gpu_rows),
               human_duration(t.compute_ns), human_duration(t.communication_ns),
               human_duration(t.exposed_communication_ns), human_duration(t.memcpy_ns), human_duration(t.idle_ns)});
  }
  return table.text(rows.size(), steps ? "steps" : "devices");
}

}  // namespace

std::string time_section(const RankReport& report, const RankTextOptions& options) {
  const TimelineRow& whole = report.tables.timeline.front();
  const RankSummary& t = whole.timeline;
  if (whole.gpu_rows == 0) return "";
  const auto part = [&](int64_t ns) { return share_of(ns, t.total_ns); };
  std::string text =
      "\n" +
      labelled("GPU time",
               fmt::format("{}: computing {}, exposed communication {}, exposed copies {}, idle {}; {} GPU row{}",
                           human_duration(t.total_ns), part(t.compute_ns), part(t.exposed_communication_ns),
                           part(t.exposed_memcpy_ns), part(t.idle_ns), whole.gpu_rows, whole.gpu_rows == 1 ? "" : "s"),
               options.columns);
  if (t.communication_ns > 0) {
    text +=
        labelled("",
                 fmt::format("communication {}, {} of it overlapped with computing", human_duration(t.communication_ns),
                             share_of(t.communication_ns - t.exposed_communication_ns, t.communication_ns)),
                 options.columns);
  }
  if (t.orphan_rows > 0) {
    text += labelled("",
                     fmt::format("{} rows ({}) were launched before the recording began, or their launch is missing; "
                                 "they are counted, but in no step",
                                 t.orphan_rows, human_duration(t.orphan_ns)),
                     options.columns);
  }
  if (t.idle_ns > 0) {
    const int64_t other_ns = t.idle_ns - t.idle_host_wait_ns - t.idle_kernel_wait_ns;
    text += labelled("Idle",
                     fmt::format("{}: waits for the CPU {}, short gaps after a launch in time {}, another cause {}",
                                 human_duration(t.idle_ns), share_of(t.idle_host_wait_ns, t.idle_ns),
                                 share_of(t.idle_kernel_wait_ns, t.idle_ns), share_of(other_ns, t.idle_ns)),
                     options.columns);
    if (whole.profiler_idle_ns > 0) {
      text += labelled("",
                       fmt::format("during {} of it the profiler refilled its own buffers: no gap of the program",
                                   human_duration(whole.profiler_idle_ns)),
                       options.columns);
    }
  }
  const Utilization& u = report.tables.utilization;
  if (u.gpu >= 0) {
    std::string full = fmt::format("kernels run {} of {}", human_percent(u.gpu), human_duration(u.window_ns));
    if (u.sm_efficiency >= 0) full += fmt::format("; estimated: SMs {}", human_percent(u.sm_efficiency));
    if (u.occupancy >= 0) full += fmt::format(", occupancy {}", human_percent(u.occupancy));
    text += labelled("GPU use", full, options.columns);
  }
  std::vector<const TimelineRow*> devices;
  for (const TimelineRow& row : report.tables.timeline) {
    if (row.device >= 0) devices.push_back(&row);
  }
  if (devices.size() > 1) {
    text +=
        labelled("", fmt::format("{} devices taken as one; each by itself is below", devices.size()), options.columns);
  }
  return text + parts_text(options, "Device", devices, false);
}

std::string findings_section(const RankReport& report, const RankTextOptions& options) {
  const std::vector<Advice>& advice = report.advice;
  if (report.tables.timeline.front().gpu_rows == 0) return "";
  if (advice.empty()) return "\n" + labelled("Findings", "none: no rule shows in this trace", options.columns);
  std::string text = "\nFindings, what gains most first\n";
  const size_t most = options.rows == 0 ? kMostAdvice : options.rows;
  for (size_t i = 0; i < std::min(advice.size(), most); ++i) {
    const Advice& a = advice[i];
    std::string head = "  " + a.code;
    if (a.information) {
      head += ": for information";
    } else if (a.saves_at_most_ns >= 0) {
      head += fmt::format(": saves at most {} ({})", human_duration(a.saves_at_most_ns),
                          share_of(a.saves_at_most_ns, a.window_ns));
    }
    text += head + "\n" + wrapped(a.sign + ": " + a.meaning + ".", 4, options.columns) +
            wrapped("-> " + a.action + ".", 4, options.columns);
    if (options.rules) text += wrapped("rule: " + a.threshold, 4, options.columns);
    text += wrapped(evidence_text(a), 4, options.columns);
  }
  return advice.size() > most ? text + fmt::format("  and {} more findings\n", advice.size() - most) : text;
}

std::string steps_section(const RankReport& report, const RankTextOptions& options) {
  std::vector<const TimelineRow*> steps;
  for (const TimelineRow& row : report.tables.timeline) {
    if (row.step >= 0 || row.place != StepPlace::step) steps.push_back(&row);
  }
  return report.tables.timeline.front().gpu_rows == 0 ? "" : parts_text(options, "Step", steps, true);
}

std::string streams_section(const RankReport& report, const RankTextOptions& options) {
  const RankTables& tables = report.tables;
  std::vector<size_t> order(tables.streams.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tables.streams[a].busy_ns > tables.streams[b].busy_ns; });
  RankTable table(options, "Stream",
                  {{"rows", 8}, {"busy", 10}, {"waits: CPU", 12}, {"its kernel", 12}, {"other", 10}, {"queued", 8}});
  for (size_t k = 0; k < std::min(order.size(), table.most(kMostStreams)); ++k) {
    const StreamIdle& s = tables.streams[order[k]];
    table.add(fmt::format("device {}, stream {}", s.device, s.stream),
              {std::to_string(s.gpu_rows), human_duration(s.busy_ns), human_duration(s.host_wait.total_ns),
               human_duration(s.kernel_wait.total_ns), human_duration(s.other.total_ns),
               std::to_string(static_cast<int64_t>(tables.queues[order[k]].depth.most))});
  }
  return table.text(order.size(), "streams");
}

std::string launches_section(const RankReport& report, const RankTextOptions& options) {
  const LaunchTotals& l = report.tables.launches;
  if (l.rows == 0) return "";
  std::string text =
      "\n" +
      labelled("Launches",
               fmt::format("{}: the call takes {}, from its end to the start on the GPU {} on average, {} at most",
                           l.rows, human_duration(l.host_ns / l.rows), human_duration(l.delay_ns / l.rows),
                           human_duration(l.longest_delay_ns)),
               options.columns);
  text += labelled("", fmt::format("{} kernels are shorter than the call that launched them", l.short_rows),
                   options.columns);
  const std::string slow = l.slow_calls == 0   ? "no slow launches"
                           : l.slow_calls == 1 ? "1 launch call takes over 50 us"
                                               : fmt::format("{} launch calls take over 50 us", l.slow_calls);
  text += labelled(
      "", fmt::format("{}; {} kernels queued for more than 100 us (the CPU is ahead: good)", slow, l.late_starts),
      options.columns);
  if (l.profiler_rows > 0) {
    text +=
        labelled("",
                 fmt::format("{} kernel{} started later while the profiler refilled its own buffers, which took {} of "
                             "these delays: ignore it",
                             l.profiler_rows, l.profiler_rows == 1 ? "" : "s", human_duration(l.profiler_delay_ns)),
                 options.columns);
  }
  int64_t adapted = 0, largest = 0;
  std::string name;
  for (const KernelRow& row : report.operators.kernels) {
    adapted += row.after_occupancy_query;
    if (row.after_occupancy_query <= largest) continue;
    largest = row.after_occupancy_query;
    name = kernel_label(row.name);
  }
  if (adapted == 0) return text;
  return text + labelled("",
                         fmt::format("{} launches follow an occupancy query, so their grids are adapted to the "
                                     "device; most: {}, {} times",
                                     adapted, fit(name, 40), largest),
                         options.columns);
}

std::string kernels_section(const RankReport& report, const RankTextOptions& options) {
  const std::vector<KernelTotals>& kernels = report.tables.kernels;
  const bool wide = options.columns >= kWideColumns;
  std::vector<RankTable::Head> heads = {{"count", 7}, {"total", 10},  {"share", 7},
                                        {"up to", 7}, {"median", 10}, {"longest", 10}};
  if (wide) heads.push_back({"library", 16});
  RankTable table(options, "Kernel", heads);
  for (size_t i = 0; i < std::min(kernels.size(), table.most(kMostKernels)); ++i) {
    const KernelTotals& k = kernels[i];
    std::vector<std::string> cells = {std::to_string(k.count),
                                      human_duration(k.total_ns),
                                      human_percent(k.share),
                                      human_percent(std::min(1.0, k.cumulative_share)),
                                      human_duration(static_cast<int64_t>(k.median_ns)),
                                      human_duration(k.longest_ns)};
    if (wide) cells.push_back(k.library.empty() ? "-" : k.library);
    table.add(kernel_label(k.name), std::move(cells));
  }
  return table.text(kernels.size(), "names");
}

std::string copies_section(const RankReport& report, const RankTextOptions& options) {
  const std::vector<CopyTotals>& copies = report.tables.copies;
  RankTable table(options, "Copy", {{"count", 7}, {"time", 10}, {"bytes", 10}, {"rate", 12}});
  for (size_t i = 0; i < std::min(copies.size(), table.most(kMostCopies)); ++i) {
    const CopyTotals& c = copies[i];
    const bool timed = c.timed_ns > 0;
    table.add(c.name, {std::to_string(c.count), human_duration(c.total_ns), timed ? human_bytes(c.bytes) : "-",
                       timed ? human_bytes(static_cast<int64_t>(c.gb_per_s() * 1e9)) + "/s" : "-"});
  }
  return table.text(copies.size(), "kinds of copies");
}

std::string waits_section(const RankReport& report, const RankTextOptions& options) {
  RankTable table(options, "Call that waits for the GPU",
                  {{"count", 7}, {"in steps", 10}, {"time", 10}, {"GPU idle after it", 19}});
  for (const HostCallTotals& call : report.tables.calls) {
    if (!call.waits) continue;
    if (call.count > call.profiler_calls) {
      table.add(call.name, {std::to_string(call.count - call.profiler_calls), std::to_string(call.in_steps),
                            human_duration(call.total_ns - call.profiler_ns), human_duration(call.idle_after_ns)});
    }
    if (call.profiler_calls == 0) continue;
    table.add(call.name + ": the profiler's flush at the end, no cost of the program",
              {std::to_string(call.profiler_calls), "0", human_duration(call.profiler_ns), "-"});
  }
  return table.text(0, "");
}

std::string warnings_section(const RankReport& report, const RankTextOptions& options) {
  std::string text;
  for (const Finding& f : report.findings) {
    if (f.severity != Severity::info) text += wrapped(f.message, 2, options.columns);
  }
  return text.empty() ? "" : "\nWarnings\n" + text;
}

}  // namespace skewscope::report
