// What --fail-on and --strict say of a report, of whatever kind: before the work and after it; for people, for a test
// report (JUnit) and for the page of a GitHub workflow.
#pragma once

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "skewscope/report.h"
#include "src/cli/options/common_options.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

struct JudgementOptions {
  std::vector<std::string> fail_on;
  bool strict = false, github = false;
  std::string junit;  // file; "" = not given

  bool asks() const { return strict || !fail_on.empty(); }
};

void add_judgement_options(CLI::App& command, JudgementOptions& options, const std::string& strict_help);

// Errors: usage, where something is to be written of rules and there are none.
Result<Done> check_judgement(const JudgementOptions& options);

// What can be refused before the work: conditions, and the output where one is named.
template <class Report>
Result<Done> check_before(const JudgementOptions& options, const WriteOptions& write) {
  for (const std::string& expression : options.fail_on) {
    if (const auto known = check_rule(Report(), expression); !known.ok()) return known.error();
  }
  if (const auto asked = check_judgement(options); !asked.ok()) return asked.error();
  return write.directory.empty() ? Result<Done>(Done{}) : check_output(write);
}

// Says each outcome on standard error (with `quiet`: failures only), writes what else is asked for, and gives the exit
// code. `of`: the command, as a test report calls its suite.
ExitCode pronounce(const std::vector<RuleOutcome>& outcomes, const Findings& diagnostics,
                   const JudgementOptions& options, const std::string& of, bool quiet);

// The exit code of a report that was made.
template <class Report>
ExitCode judge(const Report& report, const JudgementOptions& options, const std::string& of, bool quiet) {
  std::vector<RuleOutcome> outcomes;
  for (const std::string& expression : options.fail_on) {
    auto checked = check_rule(report, expression);
    if (!checked.ok()) return fail(checked.error());
    outcomes.push_back(std::move(checked).value());
  }
  return pronounce(outcomes, report.diagnostics, options, of, quiet);
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
