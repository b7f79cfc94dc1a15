// SIGINT, SIGTERM and SIGHUP end the program with 128 + signal and without half-written output.
#pragma once

#include <string>

namespace skewscope::cli {

// Blocks the signals in this thread and all it starts later, and waits for them in a thread of its own. Call once,
// before any other thread runs. Signals that the caller had ignored (nohup) stay ignored.
void watch_for_interruption();

// On a signal, the directory `partial` is removed. It takes another name first, so that a writer at work can no longer
// give it its final one.
void remove_when_interrupted(const std::string& partial);

// The same now, for another early end.
void remove_partials();

// For the end of main: does not return once a signal came, so that its exit code wins.
void yield_to_interruption();

}  // namespace skewscope::cli
