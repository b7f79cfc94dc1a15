#include "held_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace skewscope::ship {

HeldFile::HeldFile(const std::string& path, const std::string& link, const FileStamp& stamp)
    : stamp_(stamp), state_(open_first_of(path, link)) {
  if (state_ != State::held) return;
  posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  // Network file systems that know no such lock refuse it with another error: then nobody else can be told of.
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    state_ = State::busy;
  } else if (is_written(descriptor_) == Writing::yes) {
    state_ = State::written;
  } else {
    link_to(link);
    if (!unchanged()) state_ = State::absent;
  }
}

HeldFile::~HeldFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

HeldFile::State HeldFile::open_first_of(const std::string& path, const std::string& link) {
  for (const std::string& name : {path, link}) {
    if (name.empty()) continue;
    descriptor_ = open(name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor_ >= 0 && unchanged()) return State::held;
    if (descriptor_ < 0 && errno != ENOENT) {
      reason_ = std::strerror(errno);
      return State::refused;
    }
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
    if (name == link) unlink(link.c_str());  // its content has changed: it holds nothing that anybody wants
  }
  return State::absent;
}

// Other file systems, and users whom protected_hardlinks stops, get none; the descriptor holds it as long as we live.
void HeldFile::link_to(const std::string& link) const {
  if (link.empty()) return;
  if (linkat(AT_FDCWD, open_path().c_str(), AT_FDCWD, link.c_str(), AT_SYMLINK_FOLLOW) == 0 || errno != EEXIST) return;
  struct stat there {}, here {};
  const bool same = lstat(link.c_str(), &there) == 0 && fstat(descriptor_, &here) == 0 &&
                    there.st_ino == here.st_ino && there.st_dev == here.st_dev;
  if (same) return;
  unlink(link.c_str());
  const int again = linkat(AT_FDCWD, open_path().c_str(), AT_FDCWD, link.c_str(), AT_SYMLINK_FOLLOW);
  static_cast<void>(again);  // as above
}

std::string HeldFile::open_path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

bool HeldFile::unchanged() const {
  struct stat status {};
  return fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) && stamp_of(status) == stamp_;
}

}  // namespace skewscope::ship
