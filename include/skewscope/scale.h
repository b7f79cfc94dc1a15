// Stage: reports of several runs -> what changed between them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skewscope/base/result.h"
#include "skewscope/model/compare_report.h"
#include "skewscope/model/scale_report.h"

namespace skewscope {

struct NamedReport {
  std::string name;
  JobReport report;
};

// One job at different sizes. `scaling`: as the user says; nullopt: detected. Errors: usage, where there are fewer than
// two runs or two of one size; no_input, where a run has neither steps nor a window.
Result<ScaleReport> scale_runs(const std::vector<NamedReport>& runs, std::optional<Scaling> scaling = std::nullopt);

// Two runs of the same size. Errors: usage, where the sizes differ; no_input, as above.
Result<CompareReport> compare_runs(const NamedReport& base, const NamedReport& now);

}  // namespace skewscope
