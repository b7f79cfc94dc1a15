#include <cerrno>
#include <cstring>

#include "skewscope/base/result.h"

namespace skewscope {

Error cannot_read(const std::string& path, int error) {
  for (const int passing : {EMFILE, ENFILE, ENOMEM, EINTR, EAGAIN, EIO, ESTALE, ETIMEDOUT, ENOTCONN, EHOSTDOWN,
                            EHOSTUNREACH, ECONNREFUSED, ENOLCK}) {
    if (error == passing) return {ErrorKind::unreadable, path + ": " + std::strerror(error)};
  }
  return {ErrorKind::no_input, path + ": " + std::strerror(error)};
}

}  // namespace skewscope
