// `skewscope merge`: one trace of all ranks for the Perfetto UI.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "skewscope/merge.h"
#include "src/cli/options/common_options.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

struct MergeCommandOptions {
  CommonOptions common;
  InputOptions input;  // its ranks and steps say what is written; all is analysed
  AlignMode align = AlignMode::automatic;
  std::string output;
  std::vector<std::string> categories;  // empty: the default ones
  std::vector<std::string> excerpts;    // a number of worst waits, findings by name, "all"
  bool force = false, strict = false, json = false;
};

void add_merge_options(CLI::App& command, MergeCommandOptions& options);
ExitCode run_merge(const MergeCommandOptions& options);

}  // namespace skewscope::cli
