// rank.json: the tables of one trace as arrays of objects, keys as the columns of the CSV files.
#include "src/report/fields/json_values.h"

#include "skewscope/report.h"
#include "src/report/fields/columns.h"

namespace skewscope {
namespace report {
namespace {

Json cell_json(const Cell& cell) {
  return std::visit(
      [](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
          return Json();
        else
          return Json(value);
      },
      cell);
}

Json table_json(const Table& table) {
  Json rows = Json::array();
  std::vector<Cell> cells;
  for (size_t r = 0; r < table.rows; ++r) {
    table.fill(r, cells);
    Json row = Json::object();
    for (size_t c = 0; c < cells.size(); ++c) row[table.columns[c].name] = cell_json(cells[c]);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace
}  // namespace report

std::string rank_json(const RankReport& report, const std::string& tool_version) {
  using report::Json;
  Json json = {{"schema", "skewscope.rank/1"},
               {"tool_version", tool_version},
               {"file", report.file},
               {"rank", report.rank},
               {"rank_source", report::text_or_null(report.rank_source)},
               {"world_size", report.world_size > 0 ? Json(report.world_size) : Json()},
               {"host", report::text_or_null(report.host)},
               {"device_name", report::text_or_null(report.device_name)}};
  for (const report::Table& table : report::tables_of(report)) json[table.name] = report::table_json(table);
  for (const char* single : {"launches", "utilization"}) {
    if (json.contains(single)) json[single] = json[single].front();
  }
  Json findings = Json::array();
  for (const Finding& f : report.findings) {
    findings.push_back(
        {{"severity", to_string(f.severity)}, {"code", f.code.text()}, {"message", f.message}, {"count", f.count}});
  }
  json["diagnostics"] = std::move(findings);
  return report::text_of(json);
}

}  // namespace skewscope
