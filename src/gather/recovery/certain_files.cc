#include "certain_files.h"

#include <cerrno>

namespace skewscope::gather {

int CertainFiles::certain(int error, const std::string& path) {
  if (error == ENOMEM || error == EAGAIN || error == EINTR || is_short_of_descriptors(error)) {
    throw CannotTell{path, error};
  }
  return error;
}

bool is_missing(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EXDEV; }

int CertainFiles::seen(int error, const std::string& path) {
  const bool other = error == EISDIR || error == ENXIO || error == EUCLEAN || error == EBADMSG || error == EIO;
  if (error != 0 && !is_missing(error) && !other) throw CannotTell{path, error};
  return error;
}

}  // namespace skewscope::gather
