// A folder of this process's own, gone at the end of the test.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace skewscope::test {

struct Folder {
  std::filesystem::path path;
  explicit Folder(const std::string& name)
      : path(std::filesystem::temp_directory_path() / ("skewscope_jobs_" + std::to_string(getpid()) + "_" + name)) {
    std::filesystem::remove_all(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

}  // namespace skewscope::test
