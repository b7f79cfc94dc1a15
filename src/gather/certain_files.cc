#include "certain_files.h"

#include <cerrno>

namespace skewscope::gather {

int CertainFiles::told(int error, const std::string& path) {
  if (error == ENOMEM || error == EAGAIN || error == EINTR || is_short_of_descriptors(error)) {
    throw CannotTell{path, error};
  }
  return error;
}

}  // namespace skewscope::gather
