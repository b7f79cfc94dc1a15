// The program's exit codes; what each means: include/skewscope/DEFINITIONS.md, section 9.
#pragma once

#include "skewscope/base/result.h"

namespace skewscope::cli {

enum ExitCode : int {
  kDone = 0,
  kConditionHolds = 1,  // done, and a --fail-on condition holds
  kUsage = 2,
  kNoInput = 3,
  kInPart = 4,  // done in part, and --strict
  kOutput = 5,
  kResourceLimit = 6,
  kInternal = 70,
  // 128 + number of the signal: see interruption.h
};

// Logs the message; gives the code of its kind.
ExitCode fail(const Error& error);

}  // namespace skewscope::cli
