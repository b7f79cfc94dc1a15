// Whether steps of several runs can be set against each other. See comparable.cc.
#pragma once

#include <vector>

#include "skewscope/scale.h"

namespace skewscope::scale {

// Errors: usage, where what a step is differs between the runs.
Result<Done> same_step_basis(const std::vector<const NamedReport*>& runs);

// What one rank launches in a step, in the middle of the steps.
struct Launched {
  double gpu_rows = 0, collectives = 0;
};
Launched launched_per_step(const JobReport& report);

// Warnings: steps that are windows of hosts, steps of different programs. Says so in plain words.
Findings comparison_doubts(const NamedReport& base, const NamedReport& now);
constexpr const char* kOtherSteps = "steps-not-comparable";

}  // namespace skewscope::scale
