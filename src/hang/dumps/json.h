#pragma once

#include <string_view>

#include "skewscope/base/result.h"
#include "src/hang/dumps/value.h"

namespace skewscope::hang {

// A JSON dump, nested at most 64 deep. Errors: no_input.
Result<Document> read_json(std::string_view bytes);

}  // namespace skewscope::hang
