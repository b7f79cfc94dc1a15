// What a cause of lateness is called, and what to do about it.
#pragma once

#include <optional>

#include "skewscope/model/blame.h"

namespace skewscope::report {

struct CauseWords {
  LateCause cause;
  const char* label;       // in a table, where a replay confirms it
  const char* likely;      // and where none does
  const char* because;     // of one rank
  const char* because_of;  // of several
  const char* next;        // {}: "rank 5's", "ranks 4-7's"
};

// nullptr: the cause is not determined.
const CauseWords* wording_of(std::optional<LateCause> cause);

}  // namespace skewscope::report
