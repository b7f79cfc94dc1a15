// What can be read of events that cannot be repaired.
#pragma once

#include <string_view>

#include "src/ingest/text/chunk_cutter.h"

namespace skewscope::ingest {

// Writes what can be read of the event that `text` is: each key with a whole value behind it, those behind "args" as
// its arguments. For what repair_event() does not mend. False: nothing tells what the event is.
bool salvage_event(std::string_view text, TextBuffer& clean);

}  // namespace skewscope::ingest
