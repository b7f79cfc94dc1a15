// A report process makes this of a job's flight recorder dumps.
#pragma once

#include <set>

#include "skewscope/base/exchange.h"
#include "skewscope/gather.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

struct Gathered {
  std::set<int> captures;       // of which there are traces
  std::vector<KeptDump> dumps;  // of the last incident
};
Gathered gathered_in(const std::string& folder);

// hang/ in the report directory; where there are no traces, the report directory itself says the same.
ExitCode make_hang(const ReportTask& task, const Gathered& gathered, const std::string& command);

}  // namespace skewscope::cli
