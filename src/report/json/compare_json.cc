// compare.json and its tables: schema skewscope.compare/1, configs/compare.schema.json.
#include "src/report/fields/columns.h"
#include "src/report/fields/finding_fields.h"
#include "src/report/fields/json_row.h"
#include "src/report/fields/run_fields.h"
#include "src/report/tables/run_tables.h"

namespace skewscope {
namespace report {

std::vector<Table> tables_of(const CompareReport& r) {
  return {table_of<CompareRunFields>(std::vector<CompareReport::Run>{r.base, r.now}),
          table_of<StepPartFields>(r.parts),
          table_of<RankPartFields>(r.ranks),
          table_of<HostPartFields>(r.host),
          table_of<HostRankPartFields>(r.host_ranks),
          table_of<CollectivePartFields>(r.collectives),
          table_of<CommunicatorPartFields>(r.communicators),
          table_of<KernelChangeFields>(r.kernels),
          table_of<OperatorChangeFields>(r.operators),
          diagnostics_table(r.diagnostics)};
}

}  // namespace report

std::string to_json(const CompareReport& r, const ReportStamp& stamp) {
  using namespace report;
  const bool known = r.step.base_ns > 0;
  return text_of({{"schema", "skewscope.compare/1"},
                  {"tool_version", stamp.tool_version},
                  {"command", stamp.command},
                  {"created_utc", stamp.created_utc},
                  {"base", row_json<CompareRunFields>(r.base)},
                  {"new", row_json<CompareRunFields>(r.now)},
                  {"regression", known ? Json(r.regression()) : Json()},
                  {"comparable", r.comparable},
                  {"significant_regression", r.step.significant ? Json(r.regression()) : Json()},
                  {"step", row_json<ChangeFields>(r.step)},
                  {"parts", rows_json<StepPartFields>(r.parts)},
                  {"ranks", rows_json<RankPartFields>(r.ranks)},
                  {"host", rows_json<HostPartFields>(r.host)},
                  {"host_ranks", rows_json<HostRankPartFields>(r.host_ranks)},
                  {"collectives", rows_json<CollectivePartFields>(r.collectives)},
                  {"communicators", rows_json<CommunicatorPartFields>(r.communicators)},
                  {"kernels", rows_json<KernelChangeFields>(r.kernels)},
                  {"operators", rows_json<OperatorChangeFields>(r.operators)},
                  {"diagnostics", rows_json<FindingFields>(r.diagnostics)}});
}

}  // namespace skewscope
