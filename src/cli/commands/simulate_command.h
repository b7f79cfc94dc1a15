// `skewscope simulate`: a synthetic job with known truth.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "skewscope/simulate.h"
#include "skewscope/simulate/hang.h"
#include "src/cli/options/common_options.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

struct SimulateCommandOptions {
  CommonOptions common;
  SimulateOptions job;
  std::optional<HangKind> hang;  // dumps of a job that hangs, in place of traces
};

void add_simulate_command_options(CLI::App& command, SimulateCommandOptions& options);
ExitCode run_simulate(const SimulateCommandOptions& options);

}  // namespace skewscope::cli
