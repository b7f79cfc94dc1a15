// `skewscope help`, `version` and `completion`: what is said of the program itself.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "src/cli/options/common_options.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

struct HelpOptions {
  CommonOptions common;
  std::vector<std::string> commands;  // that there are
  std::string topic;                  // one of them, or "terms"; "": the program
  bool man = false;
  std::string man_directory;  // where the man pages of all commands go; "" = not given
};

struct VersionOptions {
  CommonOptions common;
};

struct CompletionOptions {
  CommonOptions common;
  std::string shell;
};

void add_help_options(CLI::App& command, HelpOptions& options);
void add_version_options(CLI::App& command, VersionOptions& options);
void add_completion_options(CLI::App& command, CompletionOptions& options);

// `program`: with all its commands, each with its flags.
ExitCode run_help(const HelpOptions& options, const CLI::App& program);
ExitCode run_version();
ExitCode run_completion(const CompletionOptions& options, const CLI::App& program);

}  // namespace skewscope::cli
