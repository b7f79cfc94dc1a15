#include "remove_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace skewscope::ship {
namespace {

bool leads_to(const std::string& path, const FileStamp& stamp) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && stamp_of(status) == stamp;
}

bool move(const std::string& from, const std::string& to) {
  return renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0;
}

bool somebody_writes(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool written = is_written(descriptor) == Writing::yes;
  close(descriptor);
  return written;
}

}  // namespace

Removal remove_source(const std::string& path, const FileStamp& stamp, const std::string& aside) {
  if (!leads_to(path, stamp)) return Removal::not_there;
  if (somebody_writes(path)) return Removal::written;
  if (!aside.empty() && leads_to(aside, stamp)) unlink(aside.c_str());  // of an agent that was killed here
  if (aside.empty() || !move(path, aside)) {
    if (!leads_to(path, stamp)) return Removal::not_there;
    return unlink(path.c_str()) == 0 ? Removal::removed : Removal::not_there;
  }
  if (leads_to(aside, stamp)) {
    unlink(aside.c_str());
    return Removal::removed;
  }
  move(aside, path);
  return Removal::not_there;
}

}  // namespace skewscope::ship
