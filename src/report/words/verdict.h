// What the summary leads with: the verdict, why, and what to do next, in words.
#pragma once

#include <cstdint>
#include <string>

#include "skewscope/model/job_report.h"
#include "src/report/rows/figures.h"

namespace skewscope::report {

// Bands of what can be won, as a share of the job's length (peers: TraceML). Shown with the number, never instead of
// it.
enum class Severeness : uint8_t { small, noticeable, high, critical };
constexpr double kNoticeable = 0.05, kHigh = 0.10, kCritical = 0.20;
const char* to_string(Severeness severeness);

struct Verdict {
  std::string verdict, why, next;
  Severeness severeness = Severeness::small;
};

// `report` with its losses.
Verdict verdict_of(const JobReport& report, const Figures& figures);

}  // namespace skewscope::report
