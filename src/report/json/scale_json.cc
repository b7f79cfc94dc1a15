// scale.json and its tables: schema skewscope.scale/1, configs/scale.schema.json.
#include "json_text.h"
#include "src/report/fields/columns.h"
#include "src/report/tables/run_tables.h"

namespace skewscope {
namespace report {
namespace {

using Run = ScaleReport::Run;
using Loss = ScaleReport::Loss;
using Cause = ScaleReport::Cause;

Json row_json(const Run& r) {
  return {{"name", r.name},
          {"world_size", r.world_size},
          {"steps", r.steps},
          {"step_ns", time_or_null(r.step_ns)},
          {"step_error_ns", time_or_null(r.step_error_ns)},
          {"speedup", r.speedup},
          {"speedup_error", ratio_or_null(r.speedup_error)},
          {"throughput_per_gpu", r.throughput_per_gpu},
          {"steps_per_s_per_gpu", r.steps_per_s_per_gpu},
          {"compute_ns", time_or_null(r.compute_ns)},
          {"message_bytes", std::llround(r.message_bytes)},
          {"efficiency", efficiency_json(r.efficiency)},
          {"computation_scaling", ratio_or_null(r.computation_scaling)},
          {"global", ratio_or_null(r.global)}};
}

Json row_json(const Cause& c) {
  return {{"kind", c.kind},
          {"ranks", c.ranks},
          {"communicator", text_or_null(c.communicator)},
          {"communicators", c.communicators},
          {"op", text_or_null(c.op)},
          {"dtype", text_or_null(c.dtype)},
          {"name", text_or_null(c.name)},
          {"before_ns", time_or_null(c.before_ns)},
          {"after_ns", time_or_null(c.after_ns)},
          {"points", c.points}};
}

Json losses_json(const ScaleReport& report) {
  Json rows = Json::array();
  for (const Loss& loss : report.losses) {
    Json causes = Json::array();
    for (const Cause& cause : loss.causes) causes.push_back(row_json(cause));
    rows.push_back({{"from", report.runs[static_cast<size_t>(loss.from)].world_size},
                    {"to", report.runs[static_cast<size_t>(loss.to)].world_size},
                    {"tree", loss.tree},
                    {"factor", loss.factor},
                    {"before", loss.before},
                    {"after", loss.after},
                    {"points", loss.points},
                    {"causes", std::move(causes)}});
  }
  return rows;
}

Json projection_json(const ScaleReport::Projection& p) {
  Json points = Json::array();
  for (const ScaleReport::Projection::Point& point : p.points) {
    points.push_back({{"world_size", point.world_size},
                      {"step_ns", time_or_null(point.step_ns)},
                      {"low_ns", time_or_null(point.low_ns)},
                      {"high_ns", time_or_null(point.high_ns)}});
  }
  const bool made = p.refusal.empty();
  return {{"model", p.model},
          {"refusal", text_or_null(p.refusal)},
          {"a_ns", made ? Json(p.a_ns) : Json()},
          {"b_ns", made ? Json(p.b_ns) : Json()},
          {"residual_ns", made ? Json(p.residual_ns) : Json()},
          {"interval", 0.95},
          {"points", std::move(points)}};
}

template <auto Member>
Cell efficiency_cell(const Run& run) {
  return run.efficiency.*Member < 0 ? Cell() : Cell(run.efficiency.*Member);
}

Table runs_table(const ScaleReport& report) {
  using E = JobReport::Efficiency;
  constexpr ColumnType kReal = ColumnType::real;
  return make_table<Run>("runs", report.runs,
                         {column<&Run::name>("name"),
                          column<&Run::world_size>("world_size"),
                          column<&Run::steps>("steps"),
                          column<&Run::step_ns>("step_ns"),
                          known_column<&Run::step_error_ns>("step_error_ns"),
                          column<&Run::speedup>("speedup"),
                          known_column<&Run::speedup_error>("speedup_error"),
                          column<&Run::throughput_per_gpu>("throughput_per_gpu"),
                          column<&Run::steps_per_s_per_gpu>("steps_per_s_per_gpu"),
                          column<&Run::compute_ns>("compute_ns"),
                          column<&Run::message_bytes>("message_bytes"),
                          ColumnOf<Run>{"parallel", kReal, &efficiency_cell<&E::parallel>},
                          ColumnOf<Run>{"load_balance", kReal, &efficiency_cell<&E::load_balance>},
                          ColumnOf<Run>{"communication", kReal, &efficiency_cell<&E::communication>},
                          ColumnOf<Run>{"serialization", kReal, &efficiency_cell<&E::serialization>},
                          ColumnOf<Run>{"transfer", kReal, &efficiency_cell<&E::transfer>},
                          ColumnOf<Run>{"gpu_communication", kReal, &efficiency_cell<&E::gpu_communication>},
                          ColumnOf<Run>{"orchestration", kReal, &efficiency_cell<&E::orchestration>},
                          known_column<&Run::computation_scaling>("computation_scaling"),
                          known_column<&Run::global>("global")});
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
    const auto size = [&](int32_t run) { return report.runs[static_cast<size_t>(run)].world_size; };
    if (!causes) rows.push_back({size(loss.from), size(loss.to), &loss, nullptr});
    for (const Cause& cause : loss.causes) {
      if (causes) rows.push_back({size(loss.from), size(loss.to), &loss, &cause});
    }
  }
  return rows;
}

template <auto Member>
Cell loss_cell(const LossRow& row) {
  return to_cell(row.loss->*Member);
}
template <auto Member>
Cell cause_cell(const LossRow& row) {
  return to_cell(row.cause->*Member);
}

Table losses_table(const ScaleReport& report) {
  using Row = LossRow;
  return make_table<Row>("losses", loss_rows(report, false),
                         {column<&Row::from>("from"), column<&Row::to>("to"),
                          ColumnOf<Row>{"tree", ColumnType::text, &loss_cell<&Loss::tree>},
                          ColumnOf<Row>{"factor", ColumnType::text, &loss_cell<&Loss::factor>},
                          ColumnOf<Row>{"before", ColumnType::real, &loss_cell<&Loss::before>},
                          ColumnOf<Row>{"after", ColumnType::real, &loss_cell<&Loss::after>},
                          ColumnOf<Row>{"points", ColumnType::real, &loss_cell<&Loss::points>}});
}

Table loss_causes_table(const ScaleReport& report) {
  using Row = LossRow;
  return make_table<Row>("loss_causes", loss_rows(report, true),
                         {column<&Row::from>("from"), column<&Row::to>("to"),
                          ColumnOf<Row>{"factor", ColumnType::text, &loss_cell<&Loss::factor>},
                          ColumnOf<Row>{"kind", ColumnType::text, &cause_cell<&Cause::kind>},
                          ColumnOf<Row>{"ranks", ColumnType::text, &cause_cell<&Cause::ranks>},
                          ColumnOf<Row>{"communicator", ColumnType::text, &cause_cell<&Cause::communicator>},
                          ColumnOf<Row>{"communicators", ColumnType::text, &cause_cell<&Cause::communicators>},
                          ColumnOf<Row>{"op", ColumnType::text, &cause_cell<&Cause::op>},
                          ColumnOf<Row>{"dtype", ColumnType::text, &cause_cell<&Cause::dtype>},
                          ColumnOf<Row>{"name", ColumnType::text, &cause_cell<&Cause::name>},
                          ColumnOf<Row>{"before_ns", ColumnType::real, &cause_cell<&Cause::before_ns>},
                          ColumnOf<Row>{"after_ns", ColumnType::real, &cause_cell<&Cause::after_ns>},
                          ColumnOf<Row>{"points", ColumnType::real, &cause_cell<&Cause::points>}});
}

Table projection_table(const ScaleReport& report) {
  using Row = ScaleReport::Projection::Point;
  return make_table<Row>("projection", report.projection.points,
                         {column<&Row::world_size>("world_size"), column<&Row::step_ns>("step_ns"),
                          column<&Row::low_ns>("low_ns"), column<&Row::high_ns>("high_ns")});
}

}  // namespace

std::vector<Table> tables_of(const ScaleReport& report) {
  return {runs_table(report), losses_table(report), loss_causes_table(report), projection_table(report),
          diagnostics_table(report.diagnostics)};
}

}  // namespace report

std::string to_json(const ScaleReport& r, const ReportStamp& stamp) {
  using report::Json;
  Json runs = Json::array();
  for (const ScaleReport::Run& run : r.runs) runs.push_back(report::row_json(run));
  return report::text_of({{"schema", "skewscope.scale/1"},
                          {"tool_version", stamp.tool_version},
                          {"command", stamp.command},
                          {"created_utc", stamp.created_utc},
                          {"scaling", to_string(r.scaling)},
                          {"scaling_given", r.scaling_given},
                          {"evidence", r.evidence},
                          {"runs", std::move(runs)},
                          {"losses", report::losses_json(r)},
                          {"projection", report::projection_json(r.projection)},
                          {"diagnostics", report::findings_json(r.diagnostics)}});
}

}  // namespace skewscope
