#include "rank_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kernel_label.h"
#include "skewscope/base/human_units.h"
#include "skewscope/base/text_columns.h"

namespace skewscope::report {
namespace {

constexpr size_t kMostAdvice = 6, kMostCopies = 4, kMostOperators = 10, kMostWork = 8, kMostModules = 6,
                 kMostOfPath = 3;

// The evidence with most time.
std::string evidence_text(const Advice& advice) {
  if (advice.evidence.empty()) return "";
  const Evidence& most = advice.evidence.front();
  std::string text = fmt::format("; most: {}", fit(kernel_label(most.what), 60));
  if (most.count > 0) text += fmt::format(", {} x", most.count);
  return text + fmt::format(", {}", human_duration(most.time_ns));
}

template <class Row, class Before>
std::vector<const Row*> sorted_by(const std::vector<Row>& rows, const Before& before) {
  std::vector<const Row*> sorted;
  for (const Row& row : rows) sorted.push_back(&row);
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Row* a, const Row* b) { return before(*a, *b); });
  return sorted;
}

// By GPU time; by the host's own where none of them launched GPU work.
std::string operators_text(const std::vector<OperatorRow>& rows) {
  int64_t all_ns = 0;
  for (const OperatorRow& row : rows) all_ns += row.direct_ns;
  const bool on_host = all_ns == 0;
  const auto sorted = sorted_by(rows, [on_host](const OperatorRow& a, const OperatorRow& b) {
    return on_host ? a.host_self_ns > b.host_self_ns : a.direct_ns > b.direct_ns;
  });
  if (rows.empty()) return "";
  std::string text = fmt::format("\n{:<34}{:>7}{:>11}{:>7}{:>11}{:>10}\n", "Operator", "calls", "GPU direct", "share",
                                 "GPU total", "host self");
  size_t shown = 0;
  for (const OperatorRow* row : sorted) {
    if (shown == kMostOperators || (!on_host && row->direct_ns == 0)) break;
    ++shown;
    text +=
        fmt::format("  {}{:>7}{:>11}{:>7}{:>11}{:>10}\n", pad(row->name + (row->recompute ? " (recompute)" : ""), 32),
                    row->calls, human_duration(row->direct_ns), share_of(row->direct_ns, all_ns),
                    human_duration(row->device_total_ns), human_duration(row->host_self_ns));
  }
  return text + and_more(sorted.size(), shown, "operators");
}

// The rate of all calls over all their GPU time, as the share of the roofline is.
std::string rate(int64_t of_one_call, const WorkRow& row, double unit) {
  if (of_one_call < 0) return "-";
  const double total = static_cast<double>(of_one_call) * static_cast<double>(row.gpu.count);
  return human_number(total / static_cast<double>(row.gpu.sum_ns) * 1e9 / unit);
}

std::string work_text(const std::vector<WorkRow>& rows) {
  const auto sorted = sorted_by(rows, [](const WorkRow& a, const WorkRow& b) { return a.gpu.sum_ns > b.gpu.sum_ns; });
  std::string text =
      fmt::format("\n{:<43}{:>6}{:>10}{:>8}{:>6}{:>7}\n", "Work", "calls", "GPU", "TFLOP/s", "TB/s", "roof");
  size_t shown = 0;
  for (const WorkRow* row : sorted) {
    if (shown == kMostWork) break;
    if (row->flops < 0 || row->gpu.sum_ns == 0) continue;
    ++shown;
    const double mean_ns = row->gpu.mean_ns();
    // Above 1 what was recorded contradicts what the device can do.
    const double share = row->roofline_ns / mean_ns;
    const std::string roof = row->roofline_ns <= 0 ? "-" : share > 1 ? ">100 %" : human_percent(share);
    text +=
        fmt::format("  {}{:>6}{:>10}{:>8}{:>6}{:>7}\n", pad(work_label(*row), 41), row->gpu.count,
                    human_duration(row->gpu.sum_ns), rate(row->flops, *row, 1e12), rate(row->bytes, *row, 1e12), roof);
  }
  return shown == 0 ? "" : text;
}

std::string modules_text(const std::vector<ModuleRow>& rows) {
  const auto sorted = sorted_by(rows, [](const ModuleRow& a, const ModuleRow& b) {
    return a.gpu_ns + a.backward_gpu_ns > b.gpu_ns + b.backward_gpu_ns;
  });
  if (sorted.empty()) return "";
  std::string text =
      fmt::format("\n{:<34}{:>7}{:>10}{:>10}{:>10}{:>9}\n", "Module", "calls", "GPU", "forward", "backward", "host");
  for (size_t i = 0; i < std::min(sorted.size(), kMostModules); ++i) {
    const ModuleRow& row = *sorted[i];
    text += fmt::format("  {}{:>7}{:>10}{:>10}{:>10}{:>9}\n", pad(row.name, 32), row.calls,
                        human_duration(row.gpu_ns + row.backward_gpu_ns), human_duration(row.gpu_ns),
                        human_duration(row.backward_gpu_ns), human_duration(row.host_total_ns));
  }
  return text + and_more(sorted.size(), kMostModules, "modules");
}

std::string compiled_text(const OperatorTables& operators) {
  int64_t calls = 0, nested = 0, gpu_ns = 0, by_compiler = 0, by_user = 0;
  for (const CompiledRegionRow& region : operators.regions) {
    calls += region.calls;
    nested += region.nested;
    gpu_ns += region.gpu_ns;
  }
  for (const TritonRow& kernel : operators.triton) (kernel.by_compiler ? by_compiler : by_user) += kernel.count;
  std::string text;
  if (calls > 0) {
    text += labelled("Compiled", fmt::format("{} regions, {} calls, {} on the GPU, {} graph breaks",
                                             operators.regions.size(), calls, human_duration(gpu_ns), nested));
  }
  if (by_compiler + by_user > 0) {
    text += labelled(text.empty() ? "Compiled" : "",
                     fmt::format("Triton kernels: {} by the compiler, {} by the user", by_compiler, by_user));
  }
  for (const GraphLaunchRow& graph : operators.graphs) {
    text += labelled(text.empty() ? "Compiled" : "",
                     fmt::format("{}: {} launches of {} GPU rows, busy {}", graph.name, graph.launches, graph.gpu_rows,
                                 human_duration(graph.busy_ns)));
  }
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string wrapped(const std::string& text, size_t indent) {
  std::string out, line;
  const auto close = [&] {
    if (!line.empty()) out += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = fit(text.substr(at, end - at), kRankColumns - indent);
    if (text_width(line) + text_width(word) + 1 > kRankColumns - indent) close();
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  close();
  return out;
}

std::string labelled(std::string_view label, const std::string& text) {
  return pad(label, kRankLabel) + fit(text, kRankColumns - kRankLabel) + "\n";
}

std::string share_of(int64_t part_ns, int64_t whole_ns) {
  return whole_ns == 0 ? "-" : human_percent(static_cast<double>(part_ns) / static_cast<double>(whole_ns));
}

std::string and_more(size_t rows, size_t shown, const char* what) {
  return rows <= shown ? "" : fmt::format("  and {} more {}; --json has all\n", rows - shown, what);
}

std::string advice_section(const std::vector<Advice>& advice) {
  if (advice.empty())
    return "\n" + labelled("Findings", "none: no rule of configs/rank_rules.json shows in this trace");
  std::string text = "\nFindings\n";
  for (size_t i = 0; i < std::min(advice.size(), kMostAdvice); ++i) {
    const Advice& a = advice[i];
    std::string head = "  " + a.code;
    if (a.information) {
      head += ": for information";
    } else if (a.saves_at_most_ns >= 0) {
      head += fmt::format(": saves {} ({}) at most", human_duration(a.saves_at_most_ns),
                          share_of(a.saves_at_most_ns, a.window_ns));
    }
    text += head + "\n" + wrapped(a.sign + ": " + a.meaning + ".", 4) + wrapped("-> " + a.action + ".", 4);
    text += wrapped(fmt::format("rule: {}{}", a.threshold, evidence_text(a)), 4);
  }
  return text + and_more(advice.size(), kMostAdvice, "findings");
}

std::string details_section(const RankTables& tables) {
  std::string text;
  const Utilization& u = tables.utilization;
  if (u.gpu >= 0) {
    std::string full = fmt::format("kernels run {} of {}", human_percent(u.gpu), human_duration(u.window_ns));
    if (u.sm_efficiency >= 0) full += fmt::format("; estimated: SMs {}", human_percent(u.sm_efficiency));
    if (u.occupancy >= 0) full += fmt::format(", occupancy {}", human_percent(u.occupancy));
    text += "\n" + labelled("GPU use", full);
  }
  for (size_t i = 0; i < std::min(tables.copies.size(), kMostCopies); ++i) {
    const CopyTotals& c = tables.copies[i];
    std::string copies = fmt::format("{}: {}, {}", c.name, c.count, human_duration(c.total_ns));
    if (c.timed_ns > 0) {
      copies +=
          fmt::format(", {} at {}/s", human_bytes(c.bytes), human_bytes(static_cast<int64_t>(c.gb_per_s() * 1e9)));
    }
    text += labelled(i == 0 ? "Copies" : "", copies);
  }
  bool first = true;
  for (const HostCallTotals& call : tables.calls) {
    if (!call.waits) continue;
    text +=
        labelled(first ? "Waits" : "", fmt::format("{}: {}, {}, GPU idle after them {}", call.name, call.count,
                                                   human_duration(call.total_ns), human_duration(call.idle_after_ns)));
    first = false;
  }
  return text;
}

std::string path_section(const CriticalPath& path) {
  if (path.kinds.empty()) return "";
  std::map<PathKind, int64_t> by_kind;
  int64_t length_ns = 0, steps = 0;
  for (size_t i = 0; i < path.kinds.size(); ++i) {
    const PathKindRow& row = path.kinds[i];
    by_kind[row.kind] += row.time_ns;
    if (i > 0 && row.start_ns == path.kinds[i - 1].start_ns) continue;
    length_ns += row.length_ns;
    steps += row.step >= 0;
  }
  std::vector<std::pair<int64_t, PathKind>> kinds;
  for (const auto& [kind, ns] : by_kind) kinds.emplace_back(-ns, kind);
  std::sort(kinds.begin(), kinds.end());
  std::string parts;
  for (const auto& [ns, kind] : kinds) {
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", words_of(kind), share_of(-ns, length_ns));
  }
  std::string text =
      "\n" + wrapped(fmt::format("Critical path {}{}: {}", human_duration(length_ns),
                                 steps > 0 ? fmt::format(" of {} step{}", steps, steps == 1 ? "" : "s") : "", parts),
                     0);
  for (size_t i = 0, shown = 0; i < path.names.size() && shown < kMostOfPath; ++i) {
    const PathNameRow& row = path.names[i];
    if (row.name.empty()) continue;
    ++shown;
    text += fmt::format("  {} {:<24}{:>7}{:>7}\n", pad(kernel_label(row.name), 39), words_of(row.kind), row.count,
                        share_of(row.time_ns, length_ns));
  }
  return text;
}

std::string operators_section(const OperatorTables& operators) {
  return operators_text(operators.operators) + work_text(operators.work) + modules_text(operators.modules) +
         compiled_text(operators);
}

}  // namespace skewscope::report
