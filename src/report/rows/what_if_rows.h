// What replays say of ranks that are compared.
#pragma once

#include "sources.h"

namespace skewscope::report {

// `steps`: profiler steps in the window.
JobReport::WhatIf what_if_rows(const Sources& sources, const IslandBlame& blame, int64_t steps);

}  // namespace skewscope::report
