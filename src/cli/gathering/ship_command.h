// skewscope ship: the agent that sends finished traces to a gatherer.
#pragma once

#include "skewscope/ship.h"
#include "src/cli/options/common_options.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

struct ShipCommandOptions {
  ShipOptions ship;
  int64_t give_up_s = 0;  // 0: not given
  bool no_compress = false;
  bool json = false;
  bool report_again = false;  // nothing is sent
  CommonOptions common;
};

void add_ship_options(CLI::App& command, ShipCommandOptions& options);
ExitCode run_ship(ShipCommandOptions options);

}  // namespace skewscope::cli
