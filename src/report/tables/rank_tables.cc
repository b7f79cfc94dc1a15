// The tables of one trace, from the descriptions of their rows: the same names in CSV, SQLite and rank.json.
#include "skewscope/report.h"
#include "src/report/fields/columns.h"
#include "src/report/fields/gpu_fields.h"
#include "src/report/fields/hlo_fields.h"
#include "src/report/fields/memory_fields.h"
#include "src/report/fields/operator_fields.h"

namespace skewscope::report {
namespace {

std::vector<IdleRow> gaps_of(const std::vector<StreamIdle>& streams) {
  std::vector<IdleRow> rows;
  for (const StreamIdle& s : streams) {
    rows.insert(rows.end(),
                {{&s, "host_wait", &s.host_wait}, {&s, "kernel_wait", &s.kernel_wait}, {&s, "other", &s.other}});
  }
  return rows;
}

std::vector<EvidenceRow> evidence_of(const std::vector<Advice>& advice) {
  std::vector<EvidenceRow> rows;
  for (const Advice& a : advice) {
    for (const Evidence& e : a.evidence) rows.push_back({&a, &e});
  }
  return rows;
}

template <class Row>
std::vector<PositionRow> positions_of(const std::vector<Row>& rows) {
  std::vector<PositionRow> positions;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t p = 0; p < rows[r].kernels.size(); ++p) {
      positions.push_back({static_cast<int64_t>(r), static_cast<int64_t>(p), &rows[r].kernels[p]});
    }
  }
  return positions;
}

}  // namespace

std::vector<Table> tables_of(const RankTables& tables) {
  std::vector<Table> all = {
      table_of<TimelineFields>(tables.timeline),         table_of<TimelineBinFields>(tables.over_time),
      table_of<TogetherFields>(tables.together),         table_of<StreamFields>(tables.streams),
      table_of<GapFields>(gaps_of(tables.streams)),      table_of<QueueFields>(tables.queues),
      table_of<QueueBinFields>(tables.queues_over_time), table_of<LaunchBoundFields>(tables.launch_bound),
      table_of<LaunchFields>(&tables.launches, 1),       table_of<KernelFields>(tables.kernels)};
  if (!tables.detailed) return all;
  all.insert(all.end(),
             {table_of<KernelShapeFields>(tables.variants), table_of<CopyFields>(tables.copies),
              table_of<HostCallFields>(tables.calls), table_of<OverheadFields>(tables.overheads),
              table_of<UtilizationFields>(&tables.utilization, 1), table_of<HloOperationFields>(tables.hlo_operations),
              table_of<HloCategoryFields>(tables.hlo_categories)});
  return all;
}

std::vector<Table> tables_of(const OperatorTables& tables) {
  return {table_of<CategoryFields>(tables.categories),
          table_of<OperatorFields>(tables.operators),
          table_of<OperatorArgumentFields>(tables.arguments),
          table_of<ArgumentPositionFields>(positions_of(tables.arguments)),
          table_of<LaunchedKernelFields>(tables.kernels),
          table_of<ShortBinFields>(tables.short_bins),
          table_of<ShortKernelFields>(tables.short_kernels),
          table_of<OwnCollectiveFields>(tables.collectives),
          table_of<WorkFields>(tables.work),
          table_of<WorkPositionFields>(positions_of(tables.work)),
          table_of<ModuleFields>(tables.modules),
          table_of<AnnotationFields>(tables.annotations),
          table_of<CompiledRegionFields>(tables.regions),
          table_of<CompileEventFields>(tables.compile_events),
          table_of<TritonFields>(tables.triton),
          table_of<GraphFields>(tables.graphs),
          table_of<PathKindFields>(tables.critical_path.kinds),
          table_of<PathNameFields>(tables.critical_path.names),
          table_of<ExecutionFields>(tables.execution),
          table_of<OperatorPassFields>(tables.passes),
          table_of<CallStackFields>(tables.stacks),
          table_of<MemoryFields>(tables.memory.devices),
          table_of<MemoryBinFields>(tables.memory.over_time),
          table_of<MemoryAtPeakFields>(tables.memory.at_peaks)};
}

std::vector<Table> tables_of(const RankReport& report) {
  std::vector<Table> all = tables_of(report.tables);
  if (report.tables.detailed) {
    for (Table& table : tables_of(report.operators)) all.push_back(std::move(table));
  }
  all.push_back(table_of<AdviceFields>(report.advice));
  all.push_back(table_of<EvidenceFields>(evidence_of(report.advice)));
  return all;
}

}  // namespace skewscope::report
