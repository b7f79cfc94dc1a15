// --help: one form for every command, at the terminal's width.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace skewscope::cli {

// `columns`: of the terminal.
std::shared_ptr<CLI::FormatterBase> help_format(size_t columns);

}  // namespace skewscope::cli
