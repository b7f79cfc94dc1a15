// What replays say of ranks that are compared.
#pragma once

#include "rooms.h"

namespace skewscope::report {

// `steps`: profiler steps in the window.
JobReport::WhatIf what_if_rows(const Rooms& rooms, const IslandBlame& blame, int64_t steps);

}  // namespace skewscope::report
