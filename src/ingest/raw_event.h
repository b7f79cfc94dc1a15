// One event as the parser found it, before anything of it is interpreted.
#pragma once

#include <array>
#include <string_view>

#include "event_fields.h"
#include "skewscope/base/ids.h"

namespace skewscope::ingest {

// Ids of the texts of the last event of a layout: the next one's are mostly the same.
struct LastTexts {
  StringId name;
  std::array<StringId, kArgCount> args;
};

// Raw tokens: quotes and escapes as written, perhaps with the white space behind them.
struct RawEvent {
  EventClass event_class = EventClass::skip;
  bool has_category = false;
  bool complete = false;     // ph "X"
  bool kept = false;         // it leaves a row
  bool repeats_arg = false;  // an argument that rows keep stands twice; the later one counts
  std::string_view name, stamp, duration, pid, tid;
  ArgMask present = 0;
  std::array<std::string_view, kArgCount> args;
  LastTexts* last = nullptr;  // of its layout, where it was read by one
};

}  // namespace skewscope::ingest
