// A whole file in memory.
#pragma once

#include <optional>
#include <string>

namespace skewscope {

// All bytes of a file, as they are. Nothing where it cannot be read, or is a pipe or device without an end within 1
// GiB: errno says why.
std::optional<std::string> file_text(const std::string& path);

}  // namespace skewscope
