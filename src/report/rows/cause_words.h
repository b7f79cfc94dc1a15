// What a cause of lateness is called, and what to do about it; what to record where none can be known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skewscope/model/blame.h"
#include "skewscope/model/job_report.h"

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

// Whether tracers recorded calls and nothing else: no computation, no step, no overlap.
bool has_calls_alone(const JobReport& report);

// What to record next where logs of calls are all there is, which say who is late and when: whose traces say why `late`
// are, and when. Empty: nobody in particular is.
std::string record_next(const JobReport& report, const std::vector<int32_t>& late);

}  // namespace skewscope::report
