#include "held_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "skewscope/base/result.h"

namespace skewscope::ship {

HeldFile::HeldFile(const std::string& path, const std::string& link, const FileStamp& stamp)
    : stamp_(stamp), link_(link), state_(open_first_of(path)) {
  if (state_ != State::held) return;
  posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  // Network file systems that know no such lock refuse it with another error: then nobody else can be told of.
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    state_ = State::busy;
  } else if (const Writing writing = is_written(descriptor_); writing == Writing::yes) {
    state_ = State::written;
  } else {
    closed_ = writing == Writing::no;
    make_link();
    if (unchanged()) return;
    state_ = State::absent;
    let_go();
  }
}

HeldFile::~HeldFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

HeldFile::State HeldFile::open_first_of(const std::string& path) {
  bool passes = false;
  for (const std::string& name : {path, link_}) {
    if (name.empty()) continue;
    descriptor_ = open(name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor_ >= 0 && (unchanged() || (name == link_ && moved_with_its_device()))) return State::held;
    if (descriptor_ < 0 && errno != ENOENT && reason_.empty()) {
      passes = cannot_read(name, errno).kind == ErrorKind::unreadable;
      reason_ = std::strerror(errno);
    }
    if (descriptor_ < 0) continue;
    close(descriptor_);
    descriptor_ = -1;
    if (name == link_) let_go();  // its content has changed: it holds nothing that anybody wants
  }
  return reason_.empty() ? State::absent : passes ? State::unreadable : State::refused;
}

// After a restart of the node a file system may have another number.
bool HeldFile::moved_with_its_device() {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) return false;
  const uint64_t before = std::exchange(stamp_.device, static_cast<uint64_t>(status.st_dev));
  if (unchanged()) return true;
  stamp_.device = before;
  return false;
}

// Other file systems, and users whom protected_hardlinks stops, get none; the descriptor holds it as long as we live.
void HeldFile::make_link() const {
  if (link_.empty()) return;
  const auto make = [&] { return linkat(AT_FDCWD, open_path().c_str(), AT_FDCWD, link_.c_str(), AT_SYMLINK_FOLLOW); };
  if (make() == 0 || errno != EEXIST) return;
  struct stat there {};
  if (lstat(link_.c_str(), &there) == 0 && stamp_of(there) == stamp_) return;
  let_go();
  make();
}

void HeldFile::let_go() const {
  if (!link_.empty()) unlink(link_.c_str());
}

std::string HeldFile::open_path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

bool HeldFile::unchanged() const {
  struct stat status {};
  return fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) && stamp_of(status) == stamp_;
}

}  // namespace skewscope::ship
