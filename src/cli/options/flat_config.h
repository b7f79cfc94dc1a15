// --config FILE: TOML whose keys are the flags of the command, at the top or in a section named after the command.
#pragma once

#include <CLI/CLI.hpp>

namespace skewscope::cli {

// Adds --config to `app`; its commands must fall through. What the command line says wins. An unknown key is an error;
// sections of other commands are passed over.
void add_config(CLI::App& app);

}  // namespace skewscope::cli
