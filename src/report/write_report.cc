// What the commands leave behind.
#include "report_directory.h"
#include "src/report/fields/job_fields.h"
#include "src/report/json/json_text.h"
#include "src/report/json/prometheus_text.h"
#include "src/report/page_data/html_page.h"
#include "src/report/page_data/page_data.h"
#include "src/report/tables/run_tables.h"

namespace skewscope {
namespace embedded {
const char* report_views();  // report_views.sql
const char* rank_views();
const char* operator_views();
}  // namespace embedded

namespace report {
namespace {

// What every report leaves: document, tables, page, summary, diagnostics.
template <class Runs>
DirectoryContent content_of(const Runs& runs, std::string_view schema, std::string_view document,
                            const ReportStamp& stamp, const WriteOptions& options) {
  return {.schema = schema,
          .document = document,
          .tables = tables_of(runs),
          .views = "",
          .json = [&runs, &stamp] { return to_json(runs, stamp); },
          .summary = [&runs, &options] { return terminal_summary(runs, options.directory, false); },
          .diagnostics = [&runs] { return diagnostics_json(runs.diagnostics); },
          .page = [&runs, &stamp] { return html_page(page_data(runs, stamp)); }};
}

}  // namespace
}  // namespace report

Result<Done> write_report(const JobReport& report, const ReportStamp& stamp, const WriteOptions& options) {
  report::DirectoryContent content = report::content_of(report, report::kReportSchema, "report.json", stamp, options);
  content.views = embedded::report_views();
  content.prometheus = [&] { return report::prometheus_text(report); };
  content.sheet = [&] { return report::summary_sheet(report); };
  return report::write_directory(content, options);
}

Result<Done> write_scale(const ScaleReport& scale, const ReportStamp& stamp, const WriteOptions& options) {
  return report::write_directory(report::content_of(scale, "skewscope.scale/1", "scale.json", stamp, options), options);
}

Result<Done> write_compare(const CompareReport& compared, const ReportStamp& stamp, const WriteOptions& options) {
  return report::write_directory(report::content_of(compared, "skewscope.compare/1", "compare.json", stamp, options),
                                 options);
}

Result<Done> write_rank(const RankReport& report, const std::string& tool_version, const WriteOptions& options) {
  std::string views = embedded::rank_views();
  if (report.tables.detailed) views += embedded::operator_views();
  return report::write_directory({.schema = "skewscope.rank/1",
                                  .document = "rank.json",
                                  .tables = report::tables_of(report),
                                  .views = std::move(views),
                                  .json = [&] { return rank_json(report, tool_version); },
                                  .summary = [&] { return rank_text(report); },
                                  .diagnostics = [&] { return report::diagnostics_json(report.findings); },
                                  .page = [&] { return report::html_page(report::page_data(report, tool_version)); }},
                                 options);
}

}  // namespace skewscope
