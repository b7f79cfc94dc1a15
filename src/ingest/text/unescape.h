#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skewscope::ingest {

// Text of a JSON string (between its quotes). Escapes that are none are kept as written and counted.
void unescape(std::string_view raw, std::string& text, int64_t& bad_escapes);

}  // namespace skewscope::ingest
