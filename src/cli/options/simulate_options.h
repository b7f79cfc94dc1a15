// The options of `skewscope simulate`.
#pragma once

#include <CLI/CLI.hpp>

#include "skewscope/simulate.h"

namespace skewscope::cli {

// Adds the flags to `command`; parsing fills `options`, which must live until then.
void add_simulate_options(CLI::App& command, SimulateOptions& options);

}  // namespace skewscope::cli
