// Kernels that the host of a rank launched and no row of its trace tells of.
#pragma once

#include <cstdint>
#include <string>

#include "skewscope/base/finding.h"

namespace skewscope {

struct LostKernels {
  int64_t launched = 0, lost = 0;                          // kernels: all, and those in no row
  int64_t collectives_recorded = 0, collectives_lost = 0;  // kernels of collectives among them
};

// A warning where more than one in twenty of all, or of the collectives' kernels, was lost. `lost` > 0.
Finding finding_of(const LostKernels& kernels, const std::string& file);

}  // namespace skewscope
