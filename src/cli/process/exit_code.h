// The program's exit codes; what each means: include/skewscope/DEFINITIONS.md, section 9.
#pragma once

#include <string>

#include "skewscope/base/finding.h"
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

// What counts as partial: each finding that is more than information.
int64_t count_partial(const Findings& findings);
// "3 warnings: missing-ranks, cut-file (2)": what they are.
std::string partial_words(const Findings& findings);
// Done, or with --strict in part, where anything is partial; logs that.
ExitCode exit_code_of(const Findings& findings, bool strict);

// Logs the message; gives the code of its kind.
ExitCode fail(const Error& error);

}  // namespace skewscope::cli
