#include "scale_command.h"

#include "src/cli/process/interruption.h"

namespace skewscope::cli {

void add_scale_options(CLI::App& command, ScaleOptions& options) {
  command
      .add_option("RUN", options.paths,
                  "Runs of one job at different sizes: traces, digests, report directories or their report.json")
      ->required()
      ->expected(2, 1 << 20)
      ->type_name("");
  auto* weak = command.add_flag("--weak", options.weak, "Equal work per rank; default: seen from the work per rank");
  command.add_flag("--strong", options.strong, "Equal work of the job")->excludes(weak);
  add_runs_options(command, options);
  command.footer(
      "Examples:\n"
      "  skewscope scale run8/ run16/ run32/ run64/\n"
      "  skewscope scale reports/* --strong -o scaling\n"
      "  skewscope scale run8 run64 --json --fail-on 'runs[world_size=64].global<60%'\n"
      "A report directory is read back from its report.json; kernels are named where it was made with --rank-tables.\n"
      "Exit codes: 0 done, 1 --fail-on holds, 2 usage, 3 no usable input, 4 --strict, 5 output, 6 memory, 70 "
      "internal.");
}

ExitCode run_scale(const ScaleOptions& options, const std::string& command_line) {
  if (const auto checked = check_before<ScaleReport>(options.judged, options.write); !checked.ok())
    return fail(checked.error());
  if (const auto apart = check_apart(options.paths, options.write); !apart.ok()) return fail(apart.error());
  if (!options.write.directory.empty()) remove_when_interrupted(partial_directory(options.write.directory));
  StageTimer timer;
  const auto runs = read_runs(options.paths, options, timer);
  if (!runs.ok()) return fail(runs.error());
  std::optional<Scaling> scaling;
  if (options.weak) scaling = Scaling::weak;
  if (options.strong) scaling = Scaling::strong;
  const auto report = scale_runs(runs.value(), scaling);
  if (options.common.timings) print_timings(timer);
  if (!report.ok()) return fail(report.error());
  return deliver(report.value(), options, command_line, "scale", &write_scale);
}

}  // namespace skewscope::cli
