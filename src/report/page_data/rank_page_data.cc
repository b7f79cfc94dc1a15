// The page of one GPU: who it is, what is most worth knowing, and the tables of the trace.
#include "page_data.h"
#include "page_tables.h"
#include "src/report/fields/json_values.h"
#include "src/report/words/rank_words.h"

namespace skewscope::report {

std::string page_data(const RankReport& report, const std::string& tool_version) {
  std::vector<Table> tables = tables_of(report);
  tables.push_back(diagnostics_table(report.findings));
  const Json data = {{"schema", "skewscope.rank-page/1"},
                     {"tool_version", tool_version},
                     {"trace",
                      {{"file", page_text(report.file)},
                       {"rank", report.rank},
                       {"rank_source", page_text(report.rank_source)},
                       {"world_size", report.world_size > 0 ? Json(report.world_size) : Json()},
                       {"host", page_text(report.host)},
                       {"device_name", page_text(report.device_name)}}},
                     {"verdict", page_text(verdict_words(report))},
                     {"next", page_text(next_words(report))},
                     {"tables", page_tables(tables)}};
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace skewscope::report
