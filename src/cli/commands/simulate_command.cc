#include "simulate_command.h"

#include <spdlog/spdlog.h>

#include <filesystem>

#include "src/cli/options/simulate_options.h"
#include "src/cli/process/interruption.h"
#include "src/cli/process/progress.h"

namespace skewscope::cli {

void add_simulate_command_options(CLI::App& command, SimulateCommandOptions& options) {
  add_simulate_options(command, options.job);
  add_common_options(command, options.common);
  command.footer("Example:\n  skewscope simulate -o traces --nodes 2 --gpus 4 --slow-rank 5:1.3 --clock-offset-ms 50");
}

ExitCode run_simulate(const SimulateCommandOptions& options) {
  std::filesystem::path target = std::filesystem::path(options.job.directory).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  remove_when_interrupted(target.string() + ".partial");  // where simulate_job works
  const auto done = [&] {
    Progress progress(shows_progress(options.common));
    progress.doing("simulating steps");
    return simulate_job(options.job, [&](int64_t steps) { progress.count(steps, options.job.steps); });
  }();
  if (!done.ok()) return fail(done.error());
  spdlog::info("wrote {}", options.job.directory);
  return kDone;
}

}  // namespace skewscope::cli
