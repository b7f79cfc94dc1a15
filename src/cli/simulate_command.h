// `skewscope simulate`: a synthetic job with known truth.
#pragma once

#include <CLI/CLI.hpp>

#include "common_options.h"
#include "exit_code.h"
#include "skewscope/simulate.h"

namespace skewscope::cli {

struct SimulateCommandOptions {
  CommonOptions common;
  SimulateOptions job;
};

void add_simulate_command_options(CLI::App& command, SimulateCommandOptions& options);
ExitCode run_simulate(const SimulateCommandOptions& options);

}  // namespace skewscope::cli
