// Who or what is responsible for a loss.
#pragma once

#include <vector>

#include "skewscope/scale.h"

namespace skewscope::scale {

struct Pair {
  const JobReport &before, &after;
  const ScaleReport::Run &before_run, &after_run;
};

// Largest first, at most a few, and last what is too little to name: their points sum to those of the loss. Empty where
// nothing got worse.
std::vector<ScaleReport::Cause> causes_of(const ScaleReport::Loss& loss, const Pair& pair, Scaling scaling);

}  // namespace skewscope::scale
