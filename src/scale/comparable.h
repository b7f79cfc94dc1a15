// Whether steps of several runs can be set against each other. See comparable.cc.
#pragma once

#include <vector>

#include "skewscope/scale.h"

namespace skewscope::scale {

// Errors: usage, where what a step is differs between the runs.
Result<Done> same_step_basis(const std::vector<const NamedReport*>& runs);

// Warnings: steps that are windows of hosts, steps of different programs. Says so in plain words.
Findings comparison_doubts(const NamedReport& base, const NamedReport& now);

}  // namespace skewscope::scale
