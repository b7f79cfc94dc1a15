// Fits that do not depend on one another, made by several processes and sent to all.
#pragma once

#include <functional>
#include <vector>

#include "fit.h"
#include "skewscope/base/exchange.h"

namespace skewscope::align {

// Row k = make(k), side by side; process k mod processes makes it.
std::vector<Fit> shared_fits(size_t count, const std::function<Fit(size_t)>& make, Exchange& exchange);

}  // namespace skewscope::align
