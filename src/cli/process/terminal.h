// Standard output and error: colours, log, progress.
#pragma once

#include <cstddef>
#include <string>

#include "skewscope/base/stage_timer.h"

namespace skewscope::cli {

enum class When { automatic, always, never };

// auto: when `descriptor` is a terminal, NO_COLOR is unset and TERM is not "dumb".
bool use_color(When when, int descriptor);
// auto: when standard error is a terminal.
bool use_progress(When when);

// Columns of the terminal that `descriptor` is; COLUMNS where it is none, else 80. At least 40.
size_t terminal_columns(int descriptor);

// Log to standard error as "skewscope: warning: …"; quiet: errors only; verbose 1: info, 2 and more: debug.
void start_log(bool quiet, int verbose, When color);

// False when standard output cannot take it (closed, full).
bool print(const std::string& text);

// The stage timer's tree on standard error.
void print_timings(const StageTimer& timer);

}  // namespace skewscope::cli
