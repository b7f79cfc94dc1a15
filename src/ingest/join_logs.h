// The logs of a library's recorder next to the traces of the same job.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// A log of a process that has a trace, or whose communicators join it with such a one.
struct LogOfJob {
  size_t row = 0;                  // of its file
  size_t trace = 0;                // row of a trace of its job
  bool of_trace = false;           // `trace` is of its own process
  std::optional<TraceFile> whole;  // as it was read, where its file is now a rank of the job
};

// Calls that a process has in its trace and in its log are counted once: the trace's stay, and learn from the log what
// only it knows; the log is set aside. The log of a process without a trace, in the same communicators, is a rank like
// the others during the time that the traces show: its calls and groups are then called as theirs are.
// `alone`: no other process has calls; else logs are set aside, and nothing is learned from them.
std::vector<LogOfJob> join_logs(std::vector<TraceFile>& files, bool alone);

// As it was read, whole. It leaves findings behind, and no call.
TraceFile take_log(LogOfJob& log, std::vector<TraceFile>& files);

}  // namespace skewscope::ingest
