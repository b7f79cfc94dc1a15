// compare.json and its tables: schema skewscope.compare/1, configs/compare.schema.json.
#include "json_text.h"
#include "src/report/fields/columns.h"
#include "src/report/tables/run_tables.h"

namespace skewscope {
namespace report {
namespace {

using Change = CompareReport::Change;
using Part = CompareReport::Part;
using RankPart = CompareReport::RankPart;
using CollectivePart = CompareReport::CollectivePart;
using Work = CompareReport::Work;

Json run_json(const CompareReport::Run& run) {
  return {{"name", run.name},
          {"world_size", run.world_size},
          {"steps", run.steps},
          {"step_ns", time_or_null(run.step_ns)},
          {"step_error_ns", time_or_null(run.step_error_ns)}};
}

// `row` and what changed.
Json with_change(Json row, const Change& c) {
  row["base_ns"] = time_or_null(c.base_ns);
  row["new_ns"] = time_or_null(c.new_ns);
  row["change_ns"] = std::llround(c.change_ns());
  row["change"] = c.base_ns > 0 ? Json(c.change_ns() / c.base_ns) : Json();
  row["p_value"] = ratio_or_null(c.p_value);
  row["significant"] = c.p_value < 0 ? Json() : Json(c.significant);
  return row;
}

Json collectives_json(const std::vector<CollectivePart>& parts, bool by_operation) {
  Json rows = Json::array();
  for (const CollectivePart& p : parts) {
    Json row = {{"communicator", p.communicator}, {"role", p.role}, {"ranks", p.members}};
    if (by_operation) {
      row["op"] = p.op;
      row["dtype"] = p.dtype;
      row["bytes"] = p.bytes;
    }
    row["part"] = p.part;
    rows.push_back(with_change(std::move(row), p.change));
  }
  return rows;
}

template <class Row>
Cell base_cell(const Row& row) {
  return row.change.base_ns;
}
template <class Row>
Cell new_cell(const Row& row) {
  return row.change.new_ns;
}
template <class Row>
Cell change_cell(const Row& row) {
  return row.change.change_ns();
}
template <class Row>
Cell p_cell(const Row& row) {
  return row.change.p_value < 0 ? Cell() : Cell(row.change.p_value);
}
template <class Row>
Cell significant_cell(const Row& row) {
  return row.change.p_value < 0 ? Cell() : Cell(row.change.significant);
}

template <class Row>
Table change_table(const char* name, const std::vector<Row>& rows, std::vector<ColumnOf<Row>> columns) {
  columns.push_back({"base_ns", ColumnType::real, &base_cell<Row>});
  columns.push_back({"new_ns", ColumnType::real, &new_cell<Row>});
  columns.push_back({"change_ns", ColumnType::real, &change_cell<Row>});
  columns.push_back({"p_value", ColumnType::real, &p_cell<Row>});
  columns.push_back({"significant", ColumnType::boolean, &significant_cell<Row>});
  return make_table<Row>(name, rows, std::move(columns));
}

Table runs_table(const CompareReport& r) {
  using Row = CompareReport::Run;
  return make_table<Row>(
      "runs", std::vector<Row>{r.base, r.now},
      {column<&Row::name>("name"), column<&Row::world_size>("world_size"), column<&Row::steps>("steps"),
       column<&Row::step_ns>("step_ns"), known_column<&Row::step_error_ns>("step_error_ns")});
}

}  // namespace

std::vector<Table> tables_of(const CompareReport& r) {
  using Row = CollectivePart;
  return {runs_table(r),
          change_table<Part>("step_changes", r.parts, {column<&Part::part>("part")}),
          change_table<RankPart>("rank_changes", r.ranks,
                                 {column<&RankPart::rank>("rank"), column<&RankPart::part>("part")}),
          change_table<Row>("collective_changes", r.collectives,
                            {column<&Row::communicator>("communicator"), column<&Row::role>("role"),
                             column<&Row::members>("ranks"), column<&Row::op>("op"), column<&Row::dtype>("dtype"),
                             column<&Row::bytes>("bytes"), column<&Row::part>("part")}),
          change_table<Row>("communicator_changes", r.communicators,
                            {column<&Row::communicator>("communicator"), column<&Row::role>("role"),
                             column<&Row::members>("ranks"), column<&Row::part>("part")}),
          change_table<Work>("kernel_changes", r.kernels, {column<&Work::name>("name")}),
          change_table<Work>("operator_changes", r.operators, {column<&Work::name>("name")}),
          diagnostics_table(r.diagnostics)};
}

}  // namespace report

std::string to_json(const CompareReport& r, const ReportStamp& stamp) {
  using report::Json;
  using report::with_change;
  Json parts = Json::array(), ranks = Json::array(), kernels = Json::array(), operators = Json::array();
  for (const auto& p : r.parts) parts.push_back(with_change({{"part", p.part}}, p.change));
  for (const auto& p : r.ranks) ranks.push_back(with_change({{"rank", p.rank}, {"part", p.part}}, p.change));
  for (const auto& k : r.kernels) kernels.push_back(with_change({{"name", k.name}}, k.change));
  for (const auto& o : r.operators) operators.push_back(with_change({{"name", o.name}}, o.change));
  const bool known = r.step.base_ns > 0;
  return report::text_of({{"schema", "skewscope.compare/1"},
                          {"tool_version", stamp.tool_version},
                          {"command", stamp.command},
                          {"created_utc", stamp.created_utc},
                          {"base", report::run_json(r.base)},
                          {"new", report::run_json(r.now)},
                          {"regression", known ? Json(r.regression()) : Json()},
                          {"comparable", r.comparable},
                          {"significant_regression", r.step.significant ? Json(r.regression()) : Json()},
                          {"step", with_change(Json::object(), r.step)},
                          {"parts", std::move(parts)},
                          {"ranks", std::move(ranks)},
                          {"collectives", report::collectives_json(r.collectives, true)},
                          {"communicators", report::collectives_json(r.communicators, false)},
                          {"kernels", std::move(kernels)},
                          {"operators", std::move(operators)},
                          {"diagnostics", report::findings_json(r.diagnostics)}});
}

}  // namespace skewscope
