// The bytes of a request's head, as far as the empty line, to what it asks for.
#pragma once

#include <string_view>
#include <variant>

#include "gate.h"

namespace skewscope::gather {

// Where the head ends in `bytes`: behind the first empty line; npos: more is needed.
size_t end_of_head(std::string_view bytes);

// `user_header`: as of admit().
std::variant<Request, Refused> read_head(std::string_view head, Listener listener, std::string_view user_header = "");

}  // namespace skewscope::gather
