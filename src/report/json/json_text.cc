// report.json: the described rows (src/report/fields), and what is nested in them. "Not determined" is null. Bytes that
// are not UTF-8 in names from traces become U+FFFD. Doubles print with the fewest digits that read back as the same
// number.
#include "json_text.h"

#include "src/report/fields/communication_fields.h"
#include "src/report/fields/finding_fields.h"
#include "src/report/fields/gain_fields.h"
#include "src/report/fields/job_fields.h"
#include "src/report/fields/json_row.h"
#include "src/report/rows/figures.h"
#include "src/report/rows/islands.h"
#include "src/report/rows/step_rows.h"
#include "src/report/words/data_quality.h"
#include "src/report/words/verdict_row.h"

namespace skewscope {
namespace report {
namespace {

// `confidence`: what the input of the whole job allows.
Json verdict_json(const JobReport& report, const char* confidence) {
  return row_json<VerdictFields>(verdict_row(report, confidence));
}

Json what_if_json(const JobReport::WhatIf& w) {
  Json json = row_json<WhatIfFields>(w);
  json["together"] = {{"ranks", w.together}, {"saved_ns", w.together_saved_ns}};
  json["programs"] = rows_json<ProgramFields>(w.programs);
  Json operations = Json::array();
  for (const JobReport::WhatIf::Operation& operation : w.operations) {
    Json row = row_json<OperationFields>(operation);
    row["parts"] = rows_json<OperationPartFields>(operation.parts);
    operations.push_back(std::move(row));
  }
  json["operations"] = std::move(operations);
  return json;
}

Json pipeline_json(const JobReport::Pipeline& p) {
  if (p.stages == 0) return {};
  Json json = row_json<PipelineFields>(p);
  json["by_stage"] = rows_json<StageFields>(p.by_stage);
  return json;
}

// What is said of the ranks of a component alone.
Json told_json(const JobReport& told, const char* confidence) {
  const Figures f = figures_of(told);
  const int64_t step_ns = mean_step_ns(told);
  return {{"step_ns", step_ns > 0 ? Json(step_ns) : Json()},
          {"steps", rows_json<StepFields>(told.steps)},
          {"total_ns", f.total_ns},
          {"compute_ns", f.compute_ns},
          {"wait_ns", f.wait_ns},
          {"transfer_ns", f.transfer_ns},
          {"exposed_wait_ns", f.exposed_wait_ns},
          {"exposed_transfer_ns", f.exposed_transfer_ns},
          {"efficiency", row_json<EfficiencyFields>(told.efficiency)},
          {"what_if", what_if_json(told.what_if)},
          {"pipeline", pipeline_json(told.pipeline)},
          {"verdict", verdict_json(told, confidence)}};
}

Json components_json(const JobReport& report) {
  const char* const confidence = confidence_of(data_quality(report));
  Json rows = Json::array();
  for (const JobReport::Component& c : report.components) {
    const JobReport::Island* const island = island_of(report, c.ranks.front());
    Json& row = rows.emplace_back(row_json<ComponentFields>(c));
    row["told"] = island == nullptr ? Json() : told_json(report_of(report, *island), confidence);
  }
  return rows;
}

}  // namespace

std::string diagnostics_json(const Findings& findings) {
  Json rows = Json::array();
  for (const Finding& finding : findings) {
    Json& row = rows.emplace_back(row_json<FindingFields>(finding));
    row["byte_offset"] = count_or_null(finding.byte_offset);
    row["count"] = finding.count;
  }
  return text_of({{"schema", "skewscope.diagnostics/1"}, {"diagnostics", std::move(rows)}});
}

}  // namespace report

std::string to_json(const JobReport& r, const ReportStamp& stamp) {
  using namespace report;
  return text_of({{"schema", kReportSchema},
                  {"tool_version", stamp.tool_version},
                  {"command", stamp.command},
                  {"created_utc", stamp.created_utc},
                  {"job", row_json<JobFields>(r.job)},
                  {"clocks", rows_json<ClockFields>(r.clocks)},
                  {"components", components_json(r)},
                  {"communicators", rows_json<CommunicatorFields>(r.communicators)},
                  {"ranks", rows_json<RankFields>(r.ranks)},
                  {"collectives", rows_json<CollectiveFields>(r.collectives)},
                  {"stragglers", rows_json<StragglerFields>(r.stragglers)},
                  {"efficiency", row_json<EfficiencyFields>(r.efficiency)},
                  {"matching", row_json<MatchingFields>(r.matching)},
                  {"diagnostics", rows_json<FindingFields>(r.diagnostics)},
                  {"what_if", what_if_json(r.what_if)},
                  {"pipeline", pipeline_json(r.pipeline)},
                  {"steps", rows_json<StepFields>(r.steps)},
                  {"verdict", verdict_json(r, confidence_of(data_quality(r)))},
                  {"losses", rows_json<LossFields>(r.losses)},
                  {"jobs_found", rows_json<FoundJobFields>(r.jobs_found)},
                  {"overlap", rows_json<OverlapFields>(r.overlap)},
                  {"overlap_modules", rows_json<OverlapModuleFields>(r.overlap_modules)},
                  {"all_to_all", rows_json<AllToAllFields>(r.all_to_all)},
                  {"transports", rows_json<TransportFields>(r.transports)},
                  {"trend", rows_json<TrendFields>(r.trend)}});
}

std::string jobs_found_json(const std::vector<FoundJob>& jobs, const std::string& tool_version) {
  return report::text_of({{"schema", "skewscope.jobs_found/1"},
                          {"tool_version", tool_version},
                          {"jobs_found", report::rows_json<report::FoundJobFields>(jobs)}});
}

}  // namespace skewscope
