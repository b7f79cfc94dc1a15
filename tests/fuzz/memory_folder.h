// For fuzz targets that read files: a folder in memory.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "require.h"

class MemoryFolder {
 public:
  MemoryFolder() {
    std::string pattern = "/dev/shm/skewscope-fuzz-XXXXXX";
    skewscope::test::require(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~MemoryFolder() { std::filesystem::remove_all(path_); }
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};
