// The tables of a job's report, from the descriptions of their rows.
#include "component_rows.h"
#include "src/report/fields/columns.h"
#include "src/report/fields/communication_fields.h"
#include "src/report/fields/finding_fields.h"
#include "src/report/fields/gain_fields.h"
#include "src/report/fields/job_fields.h"
#include "src/report/words/data_quality.h"
#include "src/report/words/verdict_row.h"

namespace skewscope::report {
namespace {

using Operation = JobReport::WhatIf::Operation;

// All rows that the members `Rows` of some groups hold.
template <class Row>
std::vector<Row> joined(const std::vector<JobReport::AllToAll>& groups, std::vector<Row> JobReport::AllToAll::*rows) {
  std::vector<Row> all;
  for (const JobReport::AllToAll& group : groups) all.insert(all.end(), (group.*rows).begin(), (group.*rows).end());
  return all;
}

struct PartRow {
  const Operation* of;
  const Operation::Part* part;
};

Table operation_parts_table(const std::vector<Operation>& operations) {
  std::vector<PartRow> rows;
  for (const Operation& operation : operations) {
    for (const Operation::Part& part : operation.parts) rows.push_back({&operation, &part});
  }
  auto columns = columns_of<OperationFields, PartRow, &PartRow::of>({"group_kind", "size", "nodes", "op"});
  for (auto& column : columns_of<OperationPartFields, PartRow, &PartRow::part>()) columns.push_back(std::move(column));
  return described<OperationPartFields>(
      make_table<PartRow>(OperationPartFields::kAbout.table, std::move(rows), std::move(columns)));
}

std::vector<CommunicatorRank> members_of_all(const std::vector<JobReport::CommunicatorRow>& groups) {
  std::vector<CommunicatorRank> rows;
  for (const JobReport::CommunicatorRow& group : groups) {
    int32_t position = 0;
    for (const int32_t rank : group.ranks) rows.push_back({group.id, position++, rank});
  }
  return rows;
}

std::vector<VerdictRow> verdict_rows(const JobReport& report) {
  std::vector<VerdictRow> rows;
  rows.push_back(verdict_row(report, confidence_of(data_quality(report))));
  return rows;
}

}  // namespace

Table diagnostics_table(const Findings& findings) { return table_of<FindingFields>(findings); }

std::vector<Table> tables_of(const JobReport& report) {
  return {row_table<JobFields>(report.job),
          table_of<VerdictFields>(verdict_rows(report)),
          row_table<EfficiencyFields>(report.efficiency),
          row_table<WhatIfFields>(report.what_if),
          row_table<MatchingFields>(report.matching),
          table_of<RankFields>(report.ranks),
          table_of<ClockFields>(report.clocks),
          table_of<CommunicatorFields>(report.communicators),
          table_of<CommunicatorRankFields>(members_of_all(report.communicators)),
          table_of<CollectiveFields>(report.collectives),
          table_of<TransportFields>(report.transports),
          table_of<TrendFields>(report.trend),
          table_of<StragglerFields>(report.stragglers),
          table_of<CauseFields>(report.causes),
          table_of<FlowFields>(report.flows),
          table_of<CallFields>(report.calls),
          table_of<UnmatchedFields>(report.unmatched),
          diagnostics_table(report.diagnostics),
          table_of<RankStatisticFields>(report.rank_statistics),
          table_of<StepFields>(report.steps),
          table_of<RankStepFields>(report.rank_steps),
          table_of<CollectiveStepFields>(report.collective_steps),
          table_of<BaselineFields>(report.baseline),
          table_of<LossFields>(report.losses),
          table_of<FoundJobFields>(report.jobs_found),
          table_of<OutsideStepsFields>(report.outside_steps),
          table_of<ProgramFields>(report.what_if.programs),
          table_of<OperationFields>(report.what_if.operations),
          operation_parts_table(report.what_if.operations),
          table_of<ComponentTableFields>(component_rows(report)),
          table_of<ComponentStepFields>(component_steps(report)),
          table_of<OverlapFields>(report.overlap),
          table_of<OverlapModuleFields>(report.overlap_modules),
          table_of<AllToAllFields>(report.all_to_all),
          table_of<AllToAllRankFields>(joined(report.all_to_all, &JobReport::AllToAll::ranks)),
          table_of<AllToAllPairFields>(joined(report.all_to_all, &JobReport::AllToAll::pairs)),
          row_table<PipelineFields>(report.pipeline, report.pipeline.stages > 0),
          table_of<StageFields>(report.pipeline.by_stage)};
}

}  // namespace skewscope::report
