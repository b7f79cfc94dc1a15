// `skewscope simulate`: a synthetic job with known truth.
#pragma once

#include <CLI/CLI.hpp>

#include "skewscope/simulate.h"
#include "src/cli/options/common_options.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

struct SimulateCommandOptions {
  CommonOptions common;
  SimulateOptions job;
};

void add_simulate_command_options(CLI::App& command, SimulateCommandOptions& options);
ExitCode run_simulate(const SimulateCommandOptions& options);

}  // namespace skewscope::cli
