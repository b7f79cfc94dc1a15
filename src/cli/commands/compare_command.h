// `skewscope compare`: two runs of the same size.
#pragma once

#include "runs.h"

namespace skewscope::cli {

struct CompareOptions : RunsOptions {
  std::string base, now;
};

void add_compare_options(CLI::App& command, CompareOptions& options);
// `command_line`: as typed, for compare.json.
ExitCode run_compare(const CompareOptions& options, const std::string& command_line);

}  // namespace skewscope::cli
