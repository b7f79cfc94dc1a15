#include "secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "descriptor.h"

namespace skewscope::gather {
namespace {

constexpr size_t kLongestSecretFile = 256;

Error no_secret(std::string what) { return {ErrorKind::usage, std::move(what)}; }

// systemd's LoadCredential gives a service its file by an access control list, whose mask is then in the mode where
// the group's bits would (acl(5)). Layout of the attribute: linux/posix_acl_xattr.h.
bool others_may_use(int fd, const struct stat& status) {
  struct Entry {
    uint16_t tag, permissions;
    uint32_t id;
  };
  struct List {
    uint32_t version;
    std::array<Entry, 16> entries;
  } list{};
  constexpr uint16_t kOwner = 1, kUser = 2, kMask = 16;
  const ssize_t size = ::fgetxattr(fd, "system.posix_acl_access", &list, sizeof list);
  if (size < 0 && errno == ERANGE) return true;  // a long list
  if (size < 4) return (status.st_mode & 077) != 0;
  const size_t entries = (static_cast<size_t>(size) - sizeof list.version) / sizeof(Entry);
  return std::any_of(list.entries.begin(), list.entries.begin() + entries, [](const Entry& entry) {
    const bool own = entry.tag == kOwner || entry.tag == kMask || (entry.tag == kUser && entry.id == ::geteuid());
    return !own && entry.permissions != 0;
  });
}

}  // namespace

bool others_may_use(const std::string& file) {
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  return opened.get() >= 0 && ::fstat(opened.get(), &status) == 0 && others_may_use(opened.get(), status);
}

// A file that others can read is no secret; a FIFO would hang the start.
Result<std::string> read_secret_file(const std::string& file, const std::string& recipe) {
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (opened.get() < 0 && errno == ENOENT) {
    return no_secret(std::string(std::strerror(errno)) + "; make it with: (umask 077; " + recipe + " > " + file + ")");
  }
  if (opened.get() < 0 && errno == EACCES) {
    return no_secret("Permission denied; chown it to the one that runs skewscope");
  }
  if (opened.get() < 0 || ::fstat(opened.get(), &status) != 0) return no_secret(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return no_secret("not a regular file");
  if (others_may_use(opened.get(), status)) return no_secret("others can read or write it; chmod 600 " + file);
  // Root may read all files, and mints with the daemon's keys.
  if (status.st_uid != ::geteuid() && status.st_uid != 0 && ::geteuid() != 0) {
    return no_secret("it belongs to another user; chown it to the one that runs skewscope");
  }
  std::string text(kLongestSecretFile, '\0');
  const ssize_t size = ::read(opened.get(), text.data(), text.size());
  if (size < 0) return no_secret(std::strerror(errno));
  text.resize(static_cast<size_t>(size));
  return text;
}

}  // namespace skewscope::gather
