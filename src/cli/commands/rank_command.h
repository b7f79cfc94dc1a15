// skewscope rank: one trace, the single-GPU summary.
#pragma once

#include "skewscope/report.h"
#include "src/cli/options/common_options.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

struct RankOptions {
  InputOptions input;
  WriteOptions write;          // no directory: nothing is written
  std::string rules, devices;  // files; "": the built-in ones
  std::string replay;          // an operator; "": the summary
  RankTextOptions text;
  bool json = false;
  CommonOptions common;
};

void add_rank_options(CLI::App& command, RankOptions& options);
ExitCode run_rank(const RankOptions& options);

}  // namespace skewscope::cli
