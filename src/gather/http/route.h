// What a method and a target ask for.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <variant>

#include "gate.h"

namespace skewscope::gather {

// What may follow the head.
enum class Body {
  none,
  document,         // at most kLongestDocument, or nothing
  needed_document,  // the same, with a Content-Length
  form,             // the same, of type application/x-www-form-urlencoded
  first_bytes,      // of an upload, or nothing
  bytes,            // of an upload or a file, with a Content-Length
};

// Fills what method, path and query say. `method` as it counts, after X-HTTP-Method-Override. Paths are decoded once;
// what is then no plain name is refused.
// Can it be a name of a user; digits cannot.
bool may_be_user(std::string_view text);

std::variant<Body, Refused> route(Request& request, Method method, std::string_view target, Listener listener);

// "2026-11-29"
std::optional<std::chrono::sys_days> day_of(std::string_view text);

}  // namespace skewscope::gather
