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

}  // namespace

const char* to_string(CompileEvent event) {
  constexpr const char* kNames[] = {"cache_lookup", "forward", "backward", "graph_call", "compilation"};
  return kNames[static_cast<size_t>(event)];
}

std::string check_invariants(const OperatorTables& tables) {
  const std::string broken[] = {
      check_sums(tables),
      first_broken("operators", tables.operators, [](const OperatorRow& row) { return holds_together(row); }),
      first_broken("arguments", tables.arguments,
                   [](const ArgumentsRow& row) {
                     return holds_together(row.direct) && holds_together(row.subtree) &&
                            row.direct.sum_ns <= row.subtree.sum_ns;
                   }),
      first_broken("kernels", tables.kernels,
                   [](const KernelRow& row) { return row.count > 0 && 0 <= row.min_ns && row.min_ns <= row.max_ns; }),
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
      first_broken("graph launches", tables.graphs,
                   [](const GraphLaunchRow& row) { return row.busy_ns <= row.sum_ns; }),
  };
  for (const std::string& text : broken) {
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace skewscope
