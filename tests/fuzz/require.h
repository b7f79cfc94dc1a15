// What must hold of any input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace skewscope::test {

inline void require(bool holds, const std::string& why = "") {
  if (holds) return;
  std::fprintf(stderr, "%s\n", why.c_str());
  std::abort();
}

}  // namespace skewscope::test
