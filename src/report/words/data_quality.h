// How far a report can be trusted, point by point.
#pragma once

#include <string>
#include <vector>

#include "skewscope/model/job_report.h"

namespace skewscope::report {

enum class Trust : uint8_t { good, doubtful, bad };
const char* to_string(Trust trust);

struct QualityPoint {
  std::string label, value;
  Trust trust = Trust::good;
};

// Ranks, calls matched, time split, clocks, findings.
std::vector<QualityPoint> data_quality(const JobReport& report);

// "high, ...", and what that rests on: where it is not high, the points that are not good.
std::string confidence_words(const std::vector<QualityPoint>& points);

// Whether no call's time is recorded, and waits rest on how long calls took.
bool durations_only(const JobReport& report);

// "high", "medium" or "low": high where every point is good, low where one is bad.
const char* confidence_of(const std::vector<QualityPoint>& points);

}  // namespace skewscope::report
