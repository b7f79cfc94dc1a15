#include "skewscope/base/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>

namespace skewscope {
namespace {

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Hidden, short, and this writer's alone: another process of this number, before it or on another host, has another
// one.
std::string hidden_name_for(const std::string& path) {
  std::random_device random;
  return folder_of(path) + "/.skewscope-" + std::to_string(random()) + "-" + std::to_string(random());
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

class NamelessFile {
 public:
  NamelessFile(const std::string& path, mode_t mode) : path_(path) {
    descriptor_ = open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (descriptor_ >= 0) return;
    hidden_ = hidden_name_for(path);
    descriptor_ = open(hidden_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
    if (descriptor_ < 0) hidden_.clear();
  }
  ~NamelessFile() {
    if (!hidden_.empty()) unlink(hidden_.c_str());
    if (descriptor_ >= 0) close(descriptor_);
  }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;

  bool write(std::string_view bytes) { return descriptor_ >= 0 && write_all(descriptor_, bytes); }

  bool publish(bool replace) {
    if (!replace) return give_name(path_);
    if (hidden_.empty()) {
      const std::string name = hidden_name_for(path_);
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

Result<Done> write_whole_file(std::string_view bytes, const std::string& path, bool replace, mode_t mode) {
  NamelessFile file(path, mode);
  if (file.write(bytes) && file.publish(replace)) return Done{};
  return Error{ErrorKind::output, path + ": " + std::strerror(errno)};
}

UnfinishedFolder::~UnfinishedFolder() {
  std::error_code ignored;
  if (made_) std::filesystem::remove_all(path_, ignored);
}

std::error_code UnfinishedFolder::make() {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  made_ = !error;
  return error;
}

}  // namespace skewscope
