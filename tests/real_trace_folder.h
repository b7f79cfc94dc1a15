// Where real traces lie; they are never part of the repository.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace skewscope::test {

// The folder of real traces; "" with a visible note when it is not there.
inline std::string traces(const std::string& set) {
  const char* given = std::getenv("SKEWSCOPE_TRACES");
  const std::string root = given != nullptr ? given : SKEWSCOPE_SOURCE_DIR "/../shared/traces";
  if (std::filesystem::exists(root + "/" + set)) return root + "/" + set;
  WARN("skipped: no traces at " << root << "/" << set << " (set SKEWSCOPE_TRACES)");
  return "";
}

}  // namespace skewscope::test
