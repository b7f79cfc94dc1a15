// What --fail-on and --strict say of a report, of whatever kind: before the work and after it.
#pragma once

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "skewscope/report.h"
#include "src/cli/options/common_options.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

// What can be refused before the work: conditions, and the output where one is named.
template <class Report>
Result<Done> check_before(const std::vector<std::string>& fail_on, const WriteOptions& write) {
  for (const std::string& expression : fail_on) {
    if (const auto known = condition_holds(Report(), expression); !known.ok()) return known.error();
  }
  return write.directory.empty() ? Result<Done>(Done{}) : check_output(write);
}

// The exit code of a report that was made.
template <class Report>
ExitCode judge(const Report& report, const std::vector<std::string>& fail_on, bool strict) {
  bool failed = false;
  for (const std::string& expression : fail_on) {
    const auto holds = condition_holds(report, expression);
    if (!holds.ok()) return fail(holds.error());
    if (holds.value()) spdlog::error("--fail-on '{}' holds", expression);
    failed = failed || holds.value();
  }
  const ExitCode input = exit_code_of(count_partial(report.diagnostics), strict);
  return input != kDone ? input : failed ? kConditionHolds : kDone;
}

inline Error no_standard_output() { return {ErrorKind::output, "cannot write to standard output"}; }

// The document where `json`, else the summary unless `quiet`. Error (output): standard output takes nothing.
template <class Report>
Result<Done> print_report(const Report& report, const ReportStamp& stamp, const std::string& directory, bool json,
                          const CommonOptions& common) {
  if (!json && common.quiet) return Done{};
  const bool color = use_color(common.color, STDOUT_FILENO);
  const size_t columns = terminal_columns(STDOUT_FILENO);
  if (print(json ? to_json(report, stamp) : terminal_summary(report, directory, color, columns))) return Done{};
  return no_standard_output();
}

}  // namespace skewscope::cli
