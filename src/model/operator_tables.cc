#include "skewscope/model/operator_tables.h"

namespace skewscope {
namespace {

bool holds_together(const TimeSpread& spread) {
  if (spread.count == 0) return spread.sum_ns == 0;
  const auto least = static_cast<double>(spread.min_ns), most = static_cast<double>(spread.max_ns);
  return spread.count > 0 && spread.min_ns >= 0 && least <= spread.median_ns && spread.median_ns <= most &&
         spread.sum_ns >= spread.max_ns && spread.deviation_ns >= 0 && spread.sum_ns / spread.count <= spread.max_ns;
}

bool holds_together(const OperatorRow& row) {
  return row.launches <= row.calls && row.direct_ns <= row.subtree_ns && row.device_self_ns <= row.device_total_ns &&
         row.host_self_ns >= 0 && row.host_self_ns <= row.host_total_ns;
}

template <class Row, class Holds>
std::string first_broken(const char* table, const std::vector<Row>& rows, const Holds& holds) {
  for (const Row& row : rows) {
    if (!holds(row)) return std::string(table) + ": figures of " + row.name + " contradict each other";
  }
  return "";
}

std::string check_sums(const OperatorTables& tables) {
  int64_t categories_ns = 0, operators_ns = 0, arguments_ns = 0;
  for (const CategoryRow& row : tables.categories) categories_ns += row.direct_ns;
  for (const OperatorRow& row : tables.operators) operators_ns += row.direct_ns;
  for (const ArgumentsRow& row : tables.arguments) arguments_ns += row.direct.sum_ns;
  if (operators_ns != arguments_ns) return "direct time by name and by arguments differ";
  return operators_ns > categories_ns ? "direct time by name is more than by category" : "";
}

// Each step's kinds, and the names of all, sum to the length of the path.
std::string check_path(const CriticalPath& path) {
  int64_t kinds_ns = 0, names_ns = 0;
  for (size_t i = 0; i < path.kinds.size();) {
    const PathKindRow& first = path.kinds[i];
    int64_t step_ns = 0;
    for (; i < path.kinds.size() && path.kinds[i].start_ns == first.start_ns; ++i) step_ns += path.kinds[i].time_ns;
    if (step_ns != first.length_ns) return "the parts of a critical path do not sum to its length";
    kinds_ns += step_ns;
  }
  for (const PathNameRow& row : path.names) names_ns += row.time_ns;
  return kinds_ns == names_ns ? "" : "the critical path by kind and by name differ";
}

// A step's parts sum to its length; time in the data loader is at least what nothing else hides.
std::string check_execution(const std::vector<ExecutionRow>& rows) {
  for (const ExecutionRow& row : rows) {
    int64_t sum_ns = 0;
    for (const int64_t ns : row.parts_ns) sum_ns += ns;
    if (sum_ns != row.length_ns) return "the parts of a step's execution do not sum to its length";
    const int64_t exposed_ns = row.part_ns(ExecutionPart::data_loader);
    if (row.in_data_loader_ns < exposed_ns || row.in_data_loader_ns > row.length_ns) {
      return "the time in the data loader is not what its part says";
    }
  }
  return "";
}

// What is allocated at a peak sums to it.
std::string check_memory(const MemoryTables& memory) {
  for (const MemoryRow& device : memory.devices) {
    int64_t bytes = 0;
    for (const MemoryAtPeakRow& row : memory.at_peaks) bytes += row.device == device.device ? row.bytes : 0;
    if (bytes != device.peak_allocated_bytes) return "what is allocated at the peak of memory does not sum to it";
  }
  return "";
}

}  // namespace

const char* to_string(CompileEvent event) {
  constexpr const char* kNames[] = {"cache_lookup", "prologue", "forward", "backward", "graph_call", "compilation"};
  return kNames[static_cast<size_t>(event)];
}

const char* to_string(PathKind kind) {
  constexpr const char* kNames[kPathKinds] = {
      "host_operator", "runtime_call", "between_operators", "launch_delay",    "computation",
      "communication", "copy",         "kernel_delay",      "synchronization", "unexplained"};
  return kNames[static_cast<size_t>(kind)];
}

const char* words_of(PathKind kind) {
  constexpr const char* kWords[kPathKinds] = {
      "host operators", "runtime calls", "between operators",     "launch delay",    "computation",
      "communication",  "copies",        "delay between kernels", "synchronization", "unexplained"};
  return kWords[static_cast<size_t>(kind)];
}

std::string check_invariants(const OperatorTables& tables) {
  const std::string broken[] = {
      check_sums(tables),
      check_path(tables.critical_path),
      check_execution(tables.execution),
      first_broken("operators", tables.operators, [](const OperatorRow& row) { return holds_together(row); }),
      first_broken("arguments", tables.arguments,
                   [](const ArgumentsRow& row) {
                     return holds_together(row.direct) && holds_together(row.subtree) &&
                            row.direct.sum_ns <= row.subtree.sum_ns;
                   }),
      first_broken("kernels", tables.kernels,
                   [](const KernelRow& row) {
                     return row.count > 0 && 0 <= row.min_ns && row.min_ns <= row.max_ns &&
                            row.after_occupancy_query <= row.count;
                   }),
      first_broken("collectives", tables.collectives,
                   [](const OwnCollectiveRow& row) { return holds_together(row.time); }),
      first_broken("work", tables.work,
                   [](const WorkRow& row) {
                     return holds_together(row.host) && holds_together(row.gpu) && row.host.count == row.gpu.count;
                   }),
      first_broken("modules", tables.modules,
                   [](const ModuleRow& row) { return row.calls > 0 && row.host_self_ns <= row.host_total_ns; }),
      first_broken("compiled regions", tables.regions,
                   [](const CompiledRegionRow& row) { return row.nested <= row.calls; }),
      first_broken("annotations", tables.annotations,
                   [](const AnnotationRow& row) { return row.with_operators <= row.count; }),
      check_memory(tables.memory),
      first_broken("graph launches", tables.graphs,
                   [](const GraphLaunchRow& row) { return row.busy_ns <= row.sum_ns; }),
  };
  for (const std::string& text : broken) {
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace skewscope
