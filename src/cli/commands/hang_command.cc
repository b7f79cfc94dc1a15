#include "hang_command.h"

#include <unistd.h>

#include "report_stamp.h"
#include "skewscope/hang.h"
#include "src/cli/process/interruption.h"
#include "src/cli/process/terminal.h"

namespace skewscope::cli {

void add_hang_options(CLI::App& command, HangOptions& options) {
  command
      .add_option("PATH", options.paths,
                  "Folder of the ranks' flight recorder dumps (pickle or JSON, also .gz), or the dumps")
      ->required()
      ->type_name("");
  command.add_option("-o,--output", options.directory, "Write a report directory: summary, hang.json, page, tables")
      ->type_name("DIR");
  command
      .add_option("--rank-regex", options.rank_regex,
                  "Rank in the path of a dump: a group (?<rank>[0-9]+); default: the last number of its name")
      ->type_name("RE");
  command.add_option("--world-size", options.world_size, "The job has so many ranks, dumps or not")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 20));
  command.add_flag("--json", options.json, "Print hang.json instead of the summary");
  command.add_flag("--force", options.force, "Replace DIR whatever it is");
  add_common_options(command, options.common);
  command.footer(
      "Examples:\n"
      "  skewscope hang dumps/\n"
      "  skewscope hang 'dumps' -o hang_report --world-size 64\n"
      "PyTorch writes a dump per rank when a collective times out, to TORCH_FR_DUMP_TEMP_FILE (older: "
      "TORCH_NCCL_DEBUG_INFO_TEMP_FILE) and the rank.\n"
      "Exit codes: 0 nothing hangs, 1 a culprit is named, 2 usage, 3 no usable input, 5 output, 70 internal.");
}

ExitCode run_hang(const HangOptions& options, const std::string& command_line) {
  const auto read = read_flight_dumps(options.paths, {options.rank_regex});
  if (!read.ok()) return fail(read.error());
  HangReport report = find_hang(read.value().dumps, options.world_size);
  report.problems = read.value().problems;
  const ReportStamp stamp = stamp_of(command_line);
  const HangStamp made = {stamp.command, SKEWSCOPE_VERSION, stamp.created_utc};
  if (!options.directory.empty()) {
    remove_when_interrupted(options.directory + ".partial");
    const auto written = write_hang(report, options.directory, made, options.force);
    if (!written.ok()) return fail(written.error());
  }
  const std::string text = options.json ? hang_json(report, made)
                                        : hang_summary(report, terminal_columns(STDOUT_FILENO),
                                                       use_color(options.common.color, STDOUT_FILENO));
  if (!print(text)) return fail({ErrorKind::output, "cannot write to standard output"});
  return report.culprits.empty() ? kDone : kConditionHolds;
}

}  // namespace skewscope::cli
