// What must hold of any input.
#pragma once

#include <cstdlib>

namespace skewscope::test {

inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace skewscope::test
