#include "skewscope/base/file_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace skewscope {
namespace {

constexpr size_t kLeastRoom = 4096, kMostWithoutSize = size_t{1} << 30;

struct OpenFile {
  int number;
  explicit OpenFile(const std::string& path) : number(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    const int failure = errno;
    if (number >= 0) close(number);
    errno = failure;
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
};

// Until its end, which may come sooner or later than at the size that it has.
std::optional<std::string> read_to_end(const OpenFile& file, size_t size, size_t most) {
  std::string text(size + kLeastRoom, '\0');
  for (size_t end = 0;;) {
    if (end == text.size()) text.resize(std::min(2 * end, most + kLeastRoom));
    const ssize_t got = read(file.number, text.data() + end, text.size() - end);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    end += static_cast<size_t>(got);
    if (end > most) {
      errno = EFBIG;
      return std::nullopt;
    }
    if (got > 0) continue;
    text.resize(end);
    return text;
  }
}

}  // namespace

std::optional<std::string> file_text(const std::string& path) {
  const OpenFile file(path);
  struct stat status {};
  if (file.number < 0 || fstat(file.number, &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) return read_to_end(file, 0, kMostWithoutSize);
  return read_to_end(file, static_cast<size_t>(status.st_size), std::string().max_size() / 2);
}

}  // namespace skewscope
