// scale.json and its tables: schema skewscope.scale/1, configs/scale.schema.json.
#include "src/report/fields/columns.h"
#include "src/report/fields/finding_fields.h"
#include "src/report/fields/json_row.h"
#include "src/report/fields/run_fields.h"
#include "src/report/tables/run_tables.h"

namespace skewscope {
namespace report {
namespace {

using Loss = ScaleReport::Loss;
using Cause = ScaleReport::Cause;

int32_t size_of(const ScaleReport& report, int32_t run) { return report.runs[static_cast<size_t>(run)].world_size; }

Json losses_json(const ScaleReport& report) {
  Json rows = Json::array();
  for (const Loss& loss : report.losses) {
    Json& row = rows.emplace_back(Json{{"from", size_of(report, loss.from)}, {"to", size_of(report, loss.to)}});
    row.update(row_json<ScaleLossFields>(loss));
    row["causes"] = rows_json<ScaleCauseFields>(loss.causes);
  }
  return rows;
}

Json projection_json(const ScaleReport::Projection& projection) {
  Json json = row_json<ProjectionFields>(projection);
  json["interval"] = 0.95;
  json["points"] = rows_json<ProjectionPointFields>(projection.points);
  return json;
}

// A loss by its sizes, and a cause of one.
struct LossRow {
  int32_t from, to;
  const Loss* loss;
  const Cause* cause;
};

std::vector<LossRow> loss_rows(const ScaleReport& report, bool causes) {
  std::vector<LossRow> rows;
  for (const Loss& loss : report.losses) {
    const int32_t from = size_of(report, loss.from), to = size_of(report, loss.to);
    if (!causes) rows.push_back({from, to, &loss, nullptr});
    for (const Cause& cause : loss.causes) {
      if (causes) rows.push_back({from, to, &loss, &cause});
    }
  }
  return rows;
}

Table loss_table(const ScaleReport& report, bool causes) {
  std::vector<ColumnOf<LossRow>> columns = {
      {"from", ColumnType::integer, [](const LossRow& row) { return to_cell(row.from); }},
      {"to", ColumnType::integer, [](const LossRow& row) { return to_cell(row.to); }}};
  const auto add = [&](std::vector<ColumnOf<LossRow>> more) {
    for (ColumnOf<LossRow>& one : more) columns.push_back(std::move(one));
  };
  if (causes) {
    add(columns_of<ScaleLossFields, LossRow, &LossRow::loss>({"factor"}));
    add(columns_of<ScaleCauseFields, LossRow, &LossRow::cause>());
  } else {
    add(columns_of<ScaleLossFields, LossRow, &LossRow::loss>());
  }
  return make_table<LossRow>(causes ? ScaleCauseFields::kAbout.table : ScaleLossFields::kAbout.table,
                             loss_rows(report, causes), std::move(columns));
}

}  // namespace

std::vector<Table> tables_of(const ScaleReport& report) {
  return {table_of<ScaleRunFields>(report.runs), loss_table(report, false), loss_table(report, true),
          table_of<ProjectionPointFields>(report.projection.points), diagnostics_table(report.diagnostics)};
}

}  // namespace report

std::string to_json(const ScaleReport& r, const ReportStamp& stamp) {
  return report::text_of({{"schema", "skewscope.scale/1"},
                          {"tool_version", stamp.tool_version},
                          {"command", stamp.command},
                          {"created_utc", stamp.created_utc},
                          {"scaling", to_string(r.scaling)},
                          {"scaling_given", r.scaling_given},
                          {"evidence", r.evidence},
                          {"runs", report::rows_json<report::ScaleRunFields>(r.runs)},
                          {"losses", report::losses_json(r)},
                          {"projection", report::projection_json(r.projection)},
                          {"diagnostics", report::rows_json<report::FindingFields>(r.diagnostics)}});
}

}  // namespace skewscope
