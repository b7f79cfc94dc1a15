// What operators, modules, compiled code and allocators say.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kernel_label.h"
#include "rank_sections.h"
#include "skewscope/base/human_units.h"
#include "skewscope/base/text_columns.h"

namespace skewscope::report {
namespace {

constexpr size_t kMostCategories = 8, kMostOperators = 6, kMostWork = 4, kMostModules = 8, kMostPasses = 3,
                 kMostAnnotations = 3, kMostStacksShown = 5, kMostOfPath = 3, kMostAtPeak = 4, kMostExecution = 6;
constexpr size_t kFramesShown = 6, kMostStages = 4;

template <class Row, class Before>
std::vector<const Row*> sorted_by(const std::vector<Row>& rows, const Before& before) {
  std::vector<const Row*> sorted;
  for (const Row& row : rows) sorted.push_back(&row);
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Row* a, const Row* b) { return before(*a, *b); });
  return sorted;
}

// Of rows in the order of their time.
std::string up_to(double cumulative_share) { return human_percent(std::min(1.0, cumulative_share)); }

// The rate of all calls over all their GPU time, as the share of the roofline is.
std::string rate(int64_t of_one_call, const WorkRow& row, double unit) {
  if (of_one_call < 0) return "-";
  const double total = static_cast<double>(of_one_call) * static_cast<double>(row.gpu.count);
  return human_number(total / static_cast<double>(row.gpu.sum_ns) * 1e9 / unit);
}

int64_t time_of(const ModuleRow& row) { return row.gpu_ns + row.backward_gpu_ns; }

using Children = std::map<std::string, std::vector<const ModuleRow*>>;

// By the module that each ran within; a module whose parent has no row is a root.
Children children_of(const std::vector<ModuleRow>& rows) {
  std::map<std::string, const ModuleRow*> known;
  for (const ModuleRow& row : rows) known[row.name] = &row;
  Children children;
  for (const ModuleRow& row : rows) children[known.count(row.parent) > 0 ? row.parent : ""].push_back(&row);
  for (auto& [parent, list] : children) {
    std::stable_sort(list.begin(), list.end(),
                     [](const ModuleRow* a, const ModuleRow* b) { return time_of(*a) > time_of(*b); });
  }
  return children;
}

// Depth first, as deep as `levels`; each list of children in turn.
void add_branch(const Children& children, const std::string& parent, size_t level, size_t levels,
                std::vector<std::pair<size_t, const ModuleRow*>>& out) {
  const auto found = children.find(parent);
  if (level >= levels || found == children.end()) return;
  for (const ModuleRow* row : found->second) {
    out.emplace_back(level, row);
    add_branch(children, row->name, level + 1, levels, out);
  }
}

// As many levels as there is room for, and at least one.
std::vector<std::pair<size_t, const ModuleRow*>> branches_within(const std::vector<ModuleRow>& rows, size_t most) {
  const Children children = children_of(rows);
  std::vector<std::pair<size_t, const ModuleRow*>> shown;
  for (size_t levels = 1; levels <= 32; ++levels) {
    std::vector<std::pair<size_t, const ModuleRow*>> deeper;
    add_branch(children, "", 0, levels, deeper);
    const bool more = deeper.size() > shown.size();
    if (levels == 1 || (more && shown.size() < most)) shown = std::move(deeper);
    if (!more || shown.size() >= most) break;
  }
  return shown;
}

std::string held_on(int32_t device) { return device < 0 ? "CPU" : fmt::format("GPU {}", device); }

}  // namespace

std::string categories_section(const RankReport& report, const RankTextOptions& options) {
  const std::vector<CategoryRow>& rows = report.operators.categories;
  RankTable table(options, "Category", {{"operators", 11}, {"GPU time", 10}, {"share", 7}, {"up to", 7}});
  size_t all = 0;
  for (const CategoryRow& row : rows) {
    if (row.direct_ns == 0) continue;
    if (++all > table.most(kMostCategories)) continue;
    table.add(row.category + (row.recompute ? " (recompute)" : ""),
              {std::to_string(row.count), human_duration(row.direct_ns), human_percent(row.share),
               up_to(row.cumulative_share)});
  }
  return table.text(all, "categories");
}

// By GPU time; by the host's own where none of them launched GPU work.
std::string operators_section(const RankReport& report, const RankTextOptions& options) {
  const std::vector<OperatorRow>& rows = report.operators.operators;
  int64_t all_ns = 0;
  for (const OperatorRow& row : rows) all_ns += row.direct_ns;
  const bool on_host = all_ns == 0;
  const auto sorted = sorted_by(rows, [on_host](const OperatorRow& a, const OperatorRow& b) {
    return on_host ? a.host_self_ns > b.host_self_ns : a.direct_ns > b.direct_ns;
  });
  RankTable table(
      options, "Operator",
      {{"calls", 7}, {"GPU itself", 11}, {"share", 7}, {"with callees", 13}, {"CPU self", 10}, {"CPU total", 10}});
  size_t shown = 0;
  for (const OperatorRow* row : sorted) {
    if (shown == table.most(kMostOperators) || (!on_host && row->direct_ns == 0)) break;
    ++shown;
    table.add(
        row->name + (row->recompute ? " (recompute)" : ""),
        {std::to_string(row->calls), human_duration(row->direct_ns), share_of(row->direct_ns, all_ns),
         human_duration(row->device_total_ns), human_duration(row->host_self_ns), human_duration(row->host_total_ns)});
  }
  return table.text(sorted.size(), "operators");
}

std::string work_section(const RankReport& report, const RankTextOptions& options) {
  const auto sorted =
      sorted_by(report.operators.work, [](const WorkRow& a, const WorkRow& b) { return a.gpu.sum_ns > b.gpu.sum_ns; });
  RankTable table(options, "Work",
                  {{"calls", 6}, {"GPU", 10}, {"TFLOP/s", 9}, {"TB/s", 6}, {"bound by", 10}, {"of roofline", 12}});
  size_t shown = 0, all = 0;
  for (const WorkRow* row : sorted) {
    if (row->flops < 0 || row->gpu.sum_ns == 0) continue;
    ++all;
    if (shown == table.most(kMostWork)) continue;
    ++shown;
    // Above 1 what was recorded contradicts what the device can do.
    const double share = row->roofline_ns / row->gpu.mean_ns();
    const std::string roof = row->roofline_ns <= 0 ? "-" : share > 1 ? ">100 %" : human_percent(share);
    table.add(work_label(*row),
              {std::to_string(row->gpu.count), human_duration(row->gpu.sum_ns), rate(row->flops, *row, 1e12),
               rate(row->bytes, *row, 1e12), row->bound.empty() ? "-" : row->bound, roof});
  }
  return table.text(all, "sets of shapes");
}

std::string modules_section(const RankReport& report, const RankTextOptions& options) {
  const std::vector<ModuleRow>& rows = report.operators.modules;
  RankTable table(options, "Module", {{"calls", 7}, {"GPU", 10}, {"forward", 10}, {"backward", 10}, {"CPU", 10}});
  const auto branches = branches_within(rows, table.most(kMostModules));
  int64_t forward_ns = 0, backward_ns = 0;
  for (const auto& [level, row] : branches) {
    if (level > 0) continue;
    forward_ns += row->gpu_ns;
    backward_ns += row->backward_gpu_ns;
  }
  for (size_t i = 0; i < std::min(branches.size(), table.most(kMostModules)); ++i) {
    const auto& [level, row] = branches[i];
    table.add(std::string(2 * level, ' ') + row->name,
              {std::to_string(row->calls), human_duration(time_of(*row)), human_duration(row->gpu_ns),
               human_duration(row->backward_gpu_ns), human_duration(row->host_total_ns)});
  }
  std::string text = table.text(rows.size(), "modules");
  if (text.empty() || backward_ns == 0) return text;
  return text +
         fmt::format("All modules: forward {}, backward {}\n", human_duration(forward_ns), human_duration(backward_ns));
}

std::string passes_section(const RankReport& report, const RankTextOptions& options) {
  const std::vector<OperatorPassRow>& rows = report.operators.passes;
  RankTable table(options, "Forward operator, its backward", {{"calls", 7}, {"forward", 10}, {"backward", 10}});
  for (size_t i = 0; i < std::min(rows.size(), table.most(kMostPasses)); ++i) {
    const OperatorPassRow& row = rows[i];
    table.add(row.forward + ", " + row.backward,
              {std::to_string(row.calls), human_duration(row.forward_gpu_ns), human_duration(row.backward_gpu_ns)});
  }
  std::string text = table.text(rows.size(), "pairs");
  if (rows.size() < 2) return text;
  int64_t forward_ns = 0, backward_ns = 0;
  for (const OperatorPassRow& row : rows) {
    forward_ns += row.forward_gpu_ns;
    backward_ns += row.backward_gpu_ns;
  }
  const std::string times =
      forward_ns == 0 ? ""
                      : fmt::format(", {} times the forward pass",
                                    human_number(static_cast<double>(backward_ns) / static_cast<double>(forward_ns)));
  return text + wrapped(fmt::format("all pairs: forward {}, backward {}{}", human_duration(forward_ns),
                                    human_duration(backward_ns), times),
                        2, options.columns);
}

std::string annotations_section(const RankReport& report, const RankTextOptions& options) {
  const auto sorted = sorted_by(report.operators.annotations,
                                [](const AnnotationRow& a, const AnnotationRow& b) { return a.gpu_ns > b.gpu_ns; });
  RankTable table(options, "Annotation",
                  {{"count", 7}, {"length", 10}, {"GPU time", 10}, {"before first operator", 23}});
  for (size_t i = 0; i < std::min(sorted.size(), table.most(kMostAnnotations)); ++i) {
    const AnnotationRow& row = *sorted[i];
    table.add(row.name + (row.on_gpu ? " (on the GPU)" : ""),
              {std::to_string(row.count), human_duration(row.total_ns), human_duration(row.gpu_ns),
               row.with_operators == 0 ? "-" : human_duration(row.before_first_operator_ns / row.with_operators)});
  }
  return table.text(sorted.size(), "annotations");
}

std::string stacks_section(const RankReport& report, const RankTextOptions& options) {
  const std::vector<CallStackRow>& rows = report.operators.stacks;
  if (rows.empty()) return "";
  std::string text = "\nCall stacks with most GPU time\n";
  const size_t most = options.rows == 0 ? kMostStacksShown : options.rows;
  for (size_t i = 0; i < std::min(rows.size(), most); ++i) {
    const CallStackRow& row = rows[i];
    text += fit(fmt::format("  {}, {} launch{}: {}", human_duration(row.gpu_ns), row.launches,
                            row.launches == 1 ? "" : "es", kernel_label(row.name)),
                options.columns) +
            "\n";
    size_t at = 0;
    for (size_t frame = 0; frame < kFramesShown && at < row.stack.size(); ++frame) {
      const size_t end = std::min(row.stack.find('\n', at), row.stack.size());
      text += "    " + fit_tail(row.stack.substr(at, end - at), options.columns - 4) + "\n";
      at = end + 1;
    }
  }
  return text;
}

std::string execution_section(const RankReport& report, const RankTextOptions& options) {
  const std::vector<ExecutionRow>& rows = report.operators.execution;
  RankTable table(options, "Step",
                  {{"length", 9},
                   {"kernels", 9},
                   {"copies", 9},
                   {"commun.", 9},
                   {"calls", 9},
                   {"data load", 10},
                   {"CPU ops", 9},
                   {"other", 9}});
  using Part = ExecutionPart;
  for (size_t i = 0; i < std::min(rows.size(), table.most(kMostExecution)); ++i) {
    const ExecutionRow& row = rows[i];
    const auto part = [&](Part of) { return human_duration(row.part_ns(of)); };
    table.add(row.step < 0 ? "trace" : std::to_string(row.step),
              {human_duration(row.length_ns), part(Part::kernel),
               human_duration(row.part_ns(Part::copy) + row.part_ns(Part::fill)), part(Part::communication),
               part(Part::runtime), part(Part::data_loader), part(Part::host_operator), part(Part::other)});
  }
  return table.text(rows.size(), "steps");
}

std::string path_section(const RankReport& report, const RankTextOptions& options) {
  const CriticalPath& path = report.operators.critical_path;
  if (path.kinds.empty()) return "";
  std::map<PathKind, int64_t> by_kind;
  int64_t length_ns = 0, steps = 0, profiler_ns = 0;
  for (size_t i = 0; i < path.kinds.size(); ++i) {
    const PathKindRow& row = path.kinds[i];
    by_kind[row.kind] += row.time_ns;
    profiler_ns += row.profiler_ns;
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
  if (profiler_ns > 0) {
    parts += fmt::format("; {} of these delays are the profiler's, which refilled its own buffers",
                         human_duration(profiler_ns));
  }
  std::string text =
      "\n" + wrapped(fmt::format("Critical path {}{}: {}", human_duration(length_ns),
                                 steps > 0 ? fmt::format(" of {} step{}", steps, steps == 1 ? "" : "s") : "", parts),
                     0, options.columns);
  RankTable table(options, "On it most", {{"", 24}, {"times", 7}, {"share", 7}});
  for (size_t i = 0, shown = 0; i < path.names.size() && shown < table.most(kMostOfPath); ++i) {
    const PathNameRow& row = path.names[i];
    if (row.name.empty()) continue;
    ++shown;
    table.add(kernel_label(row.name),
              {words_of(row.kind), std::to_string(row.count), share_of(row.time_ns, length_ns)});
  }
  return text + table.text(0, "");
}

std::string memory_section(const RankReport& report, const RankTextOptions& options) {
  const MemoryTables& memory = report.operators.memory;
  if (memory.devices.empty()) return "";
  std::string text = "\n";
  for (const MemoryRow& row : memory.devices) {
    std::string held = fmt::format("{}: at most {} allocated, {} after the first event of the trace; {} at last",
                                   held_on(row.device), human_bytes(row.peak_allocated_bytes),
                                   human_duration(row.peak_at_ns), human_bytes(row.last_allocated_bytes));
    if (row.peak_reserved_bytes > 0) held += fmt::format("; at most {} reserved", human_bytes(row.peak_reserved_bytes));
    text += labelled(text.size() == 1 ? "Memory" : "", held, options.columns);
    std::string parts;
    size_t shown = 0;
    for (const MemoryAtPeakRow& part : memory.at_peaks) {
      if (part.device != row.device || ++shown > (options.rows == 0 ? kMostAtPeak : options.rows)) continue;
      const std::string who = !part.recorded    ? "allocated before the recording"
                              : part.op.empty() ? "outside operators"
                                                : part.op;
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", who, human_bytes(part.bytes));
    }
    text += labelled("", "at the peak: " + parts, options.columns);
  }
  return text;
}

std::string compiled_section(const RankReport& report, const RankTextOptions& options) {
  const OperatorTables& operators = report.operators;
  int64_t calls = 0, nested = 0, gpu_ns = 0, lookup_ns = 0, prologue_ns = 0, by_compiler = 0, by_user = 0;
  for (const CompiledRegionRow& region : operators.regions) {
    calls += region.calls;
    nested += region.nested;
    gpu_ns += region.gpu_ns;
    lookup_ns += region.cache_lookup_ns;
    prologue_ns += region.prologue_ns;
  }
  for (const TritonRow& kernel : operators.triton) (kernel.by_compiler ? by_compiler : by_user) += kernel.count;
  std::string text;
  const auto add = [&](const std::string& line) {
    text += labelled(text.empty() ? "Compiled" : "", line, options.columns);
  };
  if (calls > 0) {
    const size_t regions = operators.regions.size();
    add(fmt::format("{} region{}, {} call{}, {} on the GPU, {} graph breaks", regions, regions == 1 ? "" : "s", calls,
                    calls == 1 ? "" : "s", human_duration(gpu_ns), nested));
    add(fmt::format("each call costs the CPU {} for the cache look-up and {} for the prologue",
                    human_duration(lookup_ns / calls), human_duration(prologue_ns / calls)));
  }
  if (operators.compiling_ns > 0) {
    std::string stages;
    size_t shown = 0;
    for (const CompileEventRow& event : operators.compile_events) {
      if (event.event != CompileEvent::compilation || ++shown > kMostStages) continue;
      const std::string name = event.name.substr(0, event.name.find(" (dynamo_timed)"));
      stages += fmt::format("{}{} {}", stages.empty() ? "" : ", ", name, human_duration(event.host_ns));
    }
    add(fmt::format("compilation took {} of the recording: {} (stages lie within each other)",
                    human_duration(operators.compiling_ns), stages));
  }
  if (by_compiler + by_user > 0) {
    add(fmt::format("Triton kernels: {} by the compiler, {} by the user", by_compiler, by_user));
  }
  for (const GraphLaunchRow& graph : operators.graphs) {
    add(fmt::format("{}: {} launches of {} GPU rows, busy {}", graph.name, graph.launches, graph.gpu_rows,
                    human_duration(graph.busy_ns)));
  }
  return text.empty() ? "" : "\n" + text;
}

}  // namespace skewscope::report
