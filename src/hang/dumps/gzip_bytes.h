#pragma once

#include <string>
#include <string_view>

#include "skewscope/base/result.h"

namespace skewscope::hang {

bool is_gzip(std::string_view bytes);
// What is in it. Errors: no_input, where it is damaged or holds more than 1 GiB.
Result<std::string> gzip_bytes(std::string_view bytes);

}  // namespace skewscope::hang
