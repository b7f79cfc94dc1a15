// `skewscope scale`: one job at several sizes.
#pragma once

#include "runs.h"

namespace skewscope::cli {

struct ScaleOptions : RunsOptions {
  std::vector<std::string> paths;
  bool weak = false, strong = false;
};

void add_scale_options(CLI::App& command, ScaleOptions& options);
// `command_line`: as typed, for scale.json.
ExitCode run_scale(const ScaleOptions& options, const std::string& command_line);

}  // namespace skewscope::cli
