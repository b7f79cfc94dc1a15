// The daemon's log: one JSON object a line on standard error. Control characters are escaped, tokens never appear.
// Nobody waits for who reads it: a line that has no room at once is left out, and counted. spdlog's sinks wait.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace skewscope::gather {

using LogValue = std::variant<std::string_view, int64_t>;
using LogFields = std::initializer_list<std::pair<const char*, LogValue>>;

// Fields whose text is empty are left out. From any thread.
void log_info(const char* event, LogFields fields);
void log_warning(const char* event, LogFields fields);
void log_error(const char* event, LogFields fields);

uint64_t log_lines_left_out();

}  // namespace skewscope::gather
