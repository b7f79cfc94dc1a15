// For tests of how long something takes: a loaded machine takes no more of it.
#pragma once

#include <ctime>

namespace skewscope::test {

// That this process has used so far, on all its threads.
inline double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace skewscope::test
