// `skewscope hang`: which rank a job that hangs waits for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "src/cli/options/common_options.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

struct HangOptions {
  CommonOptions common;
  std::vector<std::string> paths;
  std::string directory, rank_regex;
  int32_t world_size = 0;
  bool json = false, force = false;
};

void add_hang_options(CLI::App& command, HangOptions& options);
// `command_line`: as typed, for hang.json.
ExitCode run_hang(const HangOptions& options, const std::string& command_line);

}  // namespace skewscope::cli
