// A whole file in memory.
#pragma once

#include <optional>
#include <string>

namespace skewscope {

// All bytes of a file or pipe, as they are. Nothing where it cannot be read or has no end within 1 GiB: errno says why.
std::optional<std::string> file_text(const std::string& path);

}  // namespace skewscope
