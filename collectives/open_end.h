// Calls whose end was not recorded: a tracer lost their duration.
#pragma once

#include <cstdint>

namespace skewscope {

// Such a call is kept with a duration of 0, as no collective takes no time. It began when it says; when it ended, its
// own wait and its own transfer are not known, and its end aligns no clock.
constexpr bool lacks_end(int64_t duration_ns) { return duration_ns <= 0; }

}  // namespace skewscope
