#include "compare_command.h"

#include "src/cli/process/interruption.h"

namespace skewscope::cli {

void add_compare_options(CLI::App& command, CompareOptions& options) {
  command
      .add_option("BASE", options.base, "Run to compare with: traces, digests, a report directory or its report.json")
      ->required()
      ->type_name("");
  command.add_option("NEW", options.now, "Run of the same size")->required()->type_name("");
  add_runs_options(command, options);
  command.footer(
      "Examples:\n"
      "  skewscope compare yesterday/ today/\n"
      "  skewscope compare base.report/ traces/ -o changes --fail-on 'regression>5%'\n"
      "  skewscope compare a/ b/ --json | jq '.ranks[] | select(.significant)'\n"
      "Significance is from the spread of steps (Welch's t, 5 % false discoveries per table); with one step it is not "
      "determined. regression is the change of the mean step; significant_regression the same where it is no chance. "
      "Runs of two different jobs are said to be not comparable, and nothing of them is significant.\n"
      "Exit codes: 0 done, 1 --fail-on holds, 2 usage, 3 no usable input, 4 --strict, 5 output, 6 memory, 70 "
      "internal.");
}

ExitCode run_compare(const CompareOptions& options, const std::string& command_line) {
  if (const auto checked = check_before<CompareReport>(options.judged, options.write); !checked.ok())
    return fail(checked.error());
  if (const auto apart = check_apart({options.base, options.now}, options.write); !apart.ok())
    return fail(apart.error());
  if (!options.write.directory.empty()) remove_when_interrupted(partial_directory(options.write.directory));
  StageTimer timer;
  const auto runs = read_runs({options.base, options.now}, options, timer);
  if (!runs.ok()) return fail(runs.error());
  const auto report = compare_runs(runs.value()[0], runs.value()[1]);
  if (options.common.timings) print_timings(timer);
  if (!report.ok()) return fail(report.error());
  return deliver(report.value(), options, command_line, "compare", &write_compare);
}

}  // namespace skewscope::cli
