// `skewscope inspect`: what the files are; analyses nothing.
#pragma once

#include <CLI/CLI.hpp>

#include "src/cli/options/common_options.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

struct InspectOptions {
  CommonOptions common;
  InputOptions input;
  bool json = false;
};

void add_inspect_options(CLI::App& command, InspectOptions& options);
ExitCode run_inspect(const InspectOptions& options);

}  // namespace skewscope::cli
