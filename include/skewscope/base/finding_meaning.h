// A FindingMeaning says what a kind of finding means: it is a row of finding_codes.h.
#pragma once

#include <cstdint>

namespace skewscope {

enum class Severity : uint8_t { info, warning, error };

// "info", "warning", "error".
const char* to_string(Severity severity);

struct FindingMeaning {
  const char* code;     // stable, kebab-case; users filter on it
  Severity severity;    // the worst that it is reported with
  const char* meaning;  // what was seen and what follows from it
  const char* action;   // what to do; "" where there is nothing to do
};

}  // namespace skewscope
