// The captures of a job on its page and in its JSON: how it changed from capture to capture.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "skewscope/gather/report_outcome.h"
#include "src/gather/kept/store.h"

namespace skewscope::gather {

// A capture that has a report of its own in the job's newest one, and what that says.
struct ReportedCapture {
  int capture = 0;
  std::string verdict;
  ReportOutcome outcome;
};
std::vector<ReportedCapture> captures_with_reports(const Store& store, const std::string& job);

// Markup; "" where none has a report of its own.
std::string captures_section(const JobState& job, const std::vector<ReportedCapture>& captures);
// [{capture, ranks, recorded, steps, step_ns, waiting, verdict}, ...]: null says "not determined".
nlohmann::json captures_json(const std::vector<ReportedCapture>& captures);

}  // namespace skewscope::gather
