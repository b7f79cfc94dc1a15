// `skewscope gather`: the daemon on the head node, and what its operator does with its spool and keys.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "skewscope/gather.h"
#include "src/cli/options/common_options.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

struct GatherCommandOptions {
  CommonOptions common;  // has no flags here
  GatherOptions daemon;
  std::string restored_job;
  TokenRequest token;
  bool check = false, repair = false;
};

void add_gather_command_options(CLI::App& command, GatherCommandOptions& options);
// `arguments`: of the whole program, to be read again on SIGHUP. Call while the process has one thread.
ExitCode run_gather(const GatherCommandOptions& options, const std::vector<std::string>& arguments);

}  // namespace skewscope::cli
