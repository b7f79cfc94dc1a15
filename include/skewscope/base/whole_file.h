// Output that is whole or not there, whoever is killed meanwhile.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "skewscope/base/result.h"

namespace skewscope {

// Writes `bytes` to a file without a name, which then takes `path`; an existing file gives way only to `replace`, else
// it wins, also over a writer at the same time. Where the file system knows no nameless files, a hidden one is used.
// Errors: output, with the reason of the operating system.
Result<Done> write_whole_file(std::string_view bytes, const std::string& path, bool replace, mode_t mode = 0666);

// For what is written in several files, or by libraries that ask for a path: a folder in which it is made, next to
// where it will be. A rename then gives the folder, or a file in it, its final name; what remains goes with this.
class UnfinishedFolder {
 public:
  explicit UnfinishedFolder(std::filesystem::path path) : path_(std::move(path)) {}
  ~UnfinishedFolder();
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::error_code make();

 private:
  std::filesystem::path path_;
  bool made_ = false;
};

}  // namespace skewscope
