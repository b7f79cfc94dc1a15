// One event as the parser found it, before anything of it is interpreted.
#pragma once

#include <array>
#include <string_view>

#include "event_fields.h"
#include "skewscope/base/ids.h"

namespace skewscope::ingest {

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
  StringId* likely_name = nullptr;  // the name's id where it is that of the last event of its layout
};

}  // namespace skewscope::ingest
