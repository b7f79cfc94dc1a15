#include "file_stamp.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>

namespace skewscope::ship {
namespace {

// NFSv4 without a delegation and SMB without an oplock refuse a lease as if somebody were writing.
bool tells_of_writers(int descriptor) {
  struct statfs system {};
  if (fstatfs(descriptor, &system) != 0) return true;
  const auto type = static_cast<uint32_t>(system.f_type);
  return type != NFS_SUPER_MAGIC && type != CIFS_SUPER_MAGIC && type != SMB2_SUPER_MAGIC;
}

constexpr long kXfs = 0x58465342, kZfs = 0x2fc12fc1;  // no header of the kernel's names these
constexpr long kOwn[] = {
    EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, TMPFS_MAGIC, RAMFS_MAGIC, kXfs, OVERLAYFS_SUPER_MAGIC, kZfs};

}  // namespace

std::string FileStamp::key() const { return fmt::format("{:x}-{:x}-{:x}-{:x}", device, inode, size, mtime_ns); }

FileStamp stamp_of(const struct stat& status) {
  return {static_cast<uint64_t>(status.st_dev), static_cast<uint64_t>(status.st_ino),
          static_cast<uint64_t>(status.st_size),
          int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

Writing is_written(int descriptor) {
  // A writer who opens the file meanwhile has the kernel signal us; SIGURG, which nobody minds, in place of SIGIO,
  // which would end the program.
  fcntl(descriptor, F_SETSIG, SIGURG);
  if (fcntl(descriptor, F_SETLEASE, F_RDLCK) != 0) {
    return errno == EAGAIN && tells_of_writers(descriptor) ? Writing::yes : Writing::unknown;
  }
  fcntl(descriptor, F_SETLEASE, F_UNLCK);
  return Writing::no;
}

bool is_of_one_machine(long kind) { return std::find(std::begin(kOwn), std::end(kOwn), kind) != std::end(kOwn); }

std::string host_of_disk(int descriptor) {
  struct statfs system {};
  if (fstatfs(descriptor, &system) != 0 || !is_of_one_machine(system.f_type)) return "";
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace skewscope::ship
