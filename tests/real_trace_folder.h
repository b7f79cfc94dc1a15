// Where real traces lie; they are never part of the repository.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace skewscope::test {

// The place of files that the variable, or else the folder, leads to; "" with a visible note when it is not there.
inline std::string real_files(const char* variable, const std::string& folder, const std::string& set) {
  const char* given = std::getenv(variable);
  const std::string root = given != nullptr ? given : folder;
  if (std::filesystem::exists(root + "/" + set)) return root + "/" + set;
  WARN("skipped: nothing at " << root << "/" << set << " (set " << variable << ")");
  return "";
}

// Of torch.profiler.
inline std::string traces(const std::string& set) {
  return real_files("SKEWSCOPE_TRACES", SKEWSCOPE_SOURCE_DIR "/../shared/traces", set);
}

// Of other tracers.
inline std::string formats(const std::string& set) {
  return real_files("SKEWSCOPE_FORMATS", SKEWSCOPE_SOURCE_DIR "/../shared/formats", set);
}

}  // namespace skewscope::test
