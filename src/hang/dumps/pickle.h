#pragma once

#include <string_view>

#include "skewscope/base/result.h"
#include "src/hang/dumps/value.h"

namespace skewscope::hang {

// A pickle of protocols 0 to 5. The document's texts lie in `bytes`. Errors: no_input, with opcode and offset.
Result<Document> read_pickle(std::string_view bytes);

}  // namespace skewscope::hang
