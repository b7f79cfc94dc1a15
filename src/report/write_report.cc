// What the commands leave behind.
#include "html_page.h"
#include "json_text.h"
#include "prometheus_text.h"
#include "report_directory.h"
#include "run_tables.h"

namespace skewscope {
namespace embedded {
const char* report_views();  // report_views.sql
const char* rank_views();
const char* operator_views();
}  // namespace embedded

Result<Done> write_report(const JobReport& report, const ReportStamp& stamp, const WriteOptions& options) {
  return report::write_directory(
      {"skewscope.report/1", "report.json", report::tables_of(report), embedded::report_views(),
       [&] { return to_json(report, stamp); }, [&] { return terminal_summary(report, options.directory, false); },
       [&] { return report::diagnostics_json(report.diagnostics); }, [&] { return report::prometheus_text(report); },
       [&] { return report::html_page(report, stamp); }},
      options);
}

Result<Done> write_scale(const ScaleReport& scale, const ReportStamp& stamp, const WriteOptions& options) {
  return report::write_directory(
      {"skewscope.scale/1", "scale.json", report::tables_of(scale), "", [&] { return to_json(scale, stamp); },
       [&] { return terminal_summary(scale, options.directory, false); },
       [&] { return report::diagnostics_json(scale.diagnostics); }, nullptr, nullptr},
      options);
}

Result<Done> write_compare(const CompareReport& compared, const ReportStamp& stamp, const WriteOptions& options) {
  return report::write_directory(
      {"skewscope.compare/1", "compare.json", report::tables_of(compared), "", [&] { return to_json(compared, stamp); },
       [&] { return terminal_summary(compared, options.directory, false); },
       [&] { return report::diagnostics_json(compared.diagnostics); }, nullptr, nullptr},
      options);
}

Result<Done> write_rank(const RankReport& report, const std::string& tool_version, const WriteOptions& options) {
  std::string views = embedded::rank_views();
  if (report.tables.detailed) views += embedded::operator_views();
  return report::write_directory({"skewscope.rank/1", "rank.json", report::tables_of(report), views,
                                  [&] { return rank_json(report, tool_version); }, [&] { return rank_text(report); },
                                  [&] { return report::diagnostics_json(report.findings); }, nullptr, nullptr},
                                 options);
}

}  // namespace skewscope
