#include "whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace skewscope::ingest {
namespace {

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Hidden, short, and this writer's alone.
std::string name_beside(const std::string& path) {
  static std::atomic<int> next{0};
  return folder_of(path) + "/.skewscope-" + std::to_string(getpid()) + "-" + std::to_string(next++);
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

class Writing {
 public:
  explicit Writing(const std::string& path) : path_(path) {
    descriptor_ = open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) return;
    hidden_ = name_beside(path);
    descriptor_ = open(hidden_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (descriptor_ < 0) hidden_.clear();
  }
  ~Writing() {
    if (!hidden_.empty()) unlink(hidden_.c_str());
    if (descriptor_ >= 0) close(descriptor_);
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

  bool write(std::string_view bytes) { return descriptor_ >= 0 && write_all(descriptor_, bytes); }

  bool publish(bool replace) {
    if (!replace) return give_name(path_);
    if (hidden_.empty()) {
      const std::string name = name_beside(path_);
      if (!give_name(name)) return false;
      hidden_ = name;
    }
    if (rename(hidden_.c_str(), path_.c_str()) != 0) return false;
    hidden_.clear();
    return true;
  }

 private:
  bool give_name(const std::string& name) {
    if (!hidden_.empty()) return link(hidden_.c_str(), name.c_str()) == 0;
    const std::string open_file = "/proc/self/fd/" + std::to_string(descriptor_);
    return linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }

  std::string path_, hidden_;  // hidden_: "" while the file has no name of its own
  int descriptor_ = -1;
};

}  // namespace

Result<Done> write_whole_file(std::string_view bytes, const std::string& path, bool replace) {
  Writing file(path);
  if (file.write(bytes) && file.publish(replace)) return Done{};
  return Error{ErrorKind::output, path + ": " + std::strerror(errno)};
}

}  // namespace skewscope::ingest
