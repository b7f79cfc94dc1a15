#include "simulate_command.h"

#include <spdlog/spdlog.h>

#include <filesystem>

#include "src/cli/options/simulate_options.h"
#include "src/cli/process/interruption.h"
#include "src/cli/process/progress.h"

namespace skewscope::cli {
namespace {

constexpr HangKind kHangKinds[] = {HangKind::missing_rank, HangKind::order,      HangKind::size,
                                   HangKind::dead_gpu,     HangKind::stuck_host, HangKind::slow_host};

std::vector<std::string> hang_names() {
  std::vector<std::string> names;
  for (const HangKind kind : kHangKinds) names.emplace_back(to_string(kind));
  return names;
}

Result<Done> write_hang_of(const SimulateCommandOptions& options) {
  const SimulateOptions& job = options.job;
  SimulateHangOptions hang;
  hang.kind = *options.hang;
  hang.seed = job.seed;
  hang.ranks = job.nodes * job.gpus_per_node;
  hang.tp = job.tp;
  hang.pp = job.pp;
  return write_simulated_hang(hang, job.directory, job.force);
}

}  // namespace

void add_simulate_command_options(CLI::App& command, SimulateCommandOptions& options) {
  add_simulate_options(command, options.job);
  command
      .add_option_function<std::string>(
          "--hang",
          [&options](const std::string& text) {
            for (const HangKind kind : kHangKinds) {
              if (text == to_string(kind)) options.hang = kind;
            }
          },
          "Write flight recorder dumps of a job that hangs; of the other flags --nodes, --gpus, --tp, --pp and "
          "--seed "
          "count")
      ->type_name("KIND")
      ->check(CLI::IsMember(hang_names()));
  add_common_options(command, options.common);
  command.footer(
      "Examples:\n"
      "  skewscope simulate -o traces --nodes 2 --gpus 4 --slow-rank 5:1.3 --clock-offset-ms 50\n"
      "  skewscope simulate -o dumps --nodes 2 --gpus 8 --pp 2 --hang stuck-host");
}

ExitCode run_simulate(const SimulateCommandOptions& options) {
  std::filesystem::path target = std::filesystem::path(options.job.directory).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  remove_when_interrupted(target.string() + ".partial");  // where simulate_job works
  const auto done = [&]() -> Result<Done> {
    if (options.hang) return write_hang_of(options);
    Progress progress(shows_progress(options.common));
    progress.doing("simulating steps");
    return simulate_job(options.job, [&](int64_t steps) { progress.count(steps, options.job.steps); });
  }();
  if (!done.ok()) return fail(done.error());
  spdlog::info("wrote {}", options.job.directory);
  return kDone;
}

}  // namespace skewscope::cli
