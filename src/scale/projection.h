// How long a step would take at larger sizes, where the runs support saying so.
#pragma once

#include <vector>

#include "skewscope/model/scale_report.h"

namespace skewscope::scale {

ScaleReport::Projection project(const std::vector<ScaleReport::Run>& runs, Scaling scaling);

}  // namespace skewscope::scale
