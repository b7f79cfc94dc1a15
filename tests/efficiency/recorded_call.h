// One recorded call, for tests.
#pragma once

#include <string>

#include "skewscope/efficiency/work.h"

namespace skewscope::test {

inline efficiency::Work work(const std::string& op, const std::string& dims, const std::string& types,
                             const std::string& values = "", const std::string& strides = "") {
  return efficiency::work_of(op, {.dims = dims, .types = types, .strides = strides, .values = values});
}

// `name: value` of a parameter; "" where the work has none of this name.
inline std::string parameter(const efficiency::Work& work, const std::string& name) {
  for (const efficiency::Parameter& parameter : work.parameters) {
    if (parameter.name == name) return parameter.value;
  }
  return "";
}

}  // namespace skewscope::test
