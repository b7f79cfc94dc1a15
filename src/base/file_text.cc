#include "skewscope/base/file_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace skewscope {
namespace {

constexpr size_t kLeastRoom = 4096, kMost = size_t{1} << 30;

// Until its end, whatever the size that it was said to have.
bool read_to_end(int file, std::string& text) {
  size_t size = 0;
  for (;;) {
    if (text.size() - size < kLeastRoom) text.resize(2 * text.size() + kLeastRoom);
    const ssize_t got = read(file, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      text.resize(size);
      return got == 0;
    }
    size += static_cast<size_t>(got);
    if (size > kMost) {
      errno = EFBIG;
      return false;
    }
  }
}

}  // namespace

std::optional<std::string> file_text(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct stat status {};
  std::string text;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    text.resize(std::min(static_cast<size_t>(status.st_size), kMost) + kLeastRoom);
  }
  const bool whole = read_to_end(file, text);
  const int failure = errno;
  close(file);
  errno = failure;
  return whole ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace skewscope
