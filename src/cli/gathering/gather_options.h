// Flags of `skewscope gather`: all of GatherOptions. In the file of --config they are keys of the same names.
#pragma once

#include <CLI/CLI.hpp>

#include "skewscope/gather.h"

namespace skewscope::cli {

void add_gather_options(CLI::App& command, GatherOptions& options);

}  // namespace skewscope::cli
