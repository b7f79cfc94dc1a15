// The pages of several runs: their sentences, and their tables.
#include "page_data.h"
#include "page_tables.h"
#include "src/report/fields/json_values.h"
#include "src/report/tables/run_tables.h"
#include "src/report/words/run_words.h"

namespace skewscope::report {
namespace {

std::string page_text_of(const char* schema, const ReportStamp& stamp, const std::vector<Table>& tables,
                         const Json& sentences) {
  Json data = {{"schema", schema},
               {"tool_version", stamp.tool_version},
               {"command", page_text(stamp.command)},
               {"created_utc", stamp.created_utc}};
  data.update(sentences);
  data["tables"] = page_tables(tables);
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string page_data(const ScaleReport& report, const ReportStamp& stamp) {
  return page_text_of("skewscope.scale-page/1", stamp, tables_of(report),
                      {{"scaling", to_string(report.scaling)},
                       {"verdict", page_text(verdict_words(report))},
                       {"why", page_text(why_words(report))},
                       {"scaling_words", page_text(scaling_words(report))},
                       {"projection_words", page_text(projection_words(report))}});
}

std::string page_data(const CompareReport& report, const ReportStamp& stamp) {
  return page_text_of("skewscope.compare-page/1", stamp, tables_of(report),
                      {{"verdict", page_text(verdict_words(report))},
                       {"slower", report.regression() > 0},
                       {"significant", report.step.p_value < 0 ? Json() : Json(report.step.significant)}});
}

}  // namespace skewscope::report
