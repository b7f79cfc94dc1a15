// One event as the parser found it, before anything of it is interpreted.
#pragma once

#include <array>
#include <string_view>

#include "event_fields.h"
#include "skewscope/base/ids.h"

namespace skewscope::ingest {

// What is known of an event by its layout.
struct KnownLayout {
  // Tokens that are one run of digits, read by value_of_digits().
  ArgMask digits = 0;
  bool digit_pid = false, digit_tid = false;
  // Stamp and duration are such a run, or two with a point between.
  bool digit_times = false;
  // Ids of the texts of the last event: the next one's are mostly the same.
  StringId last_name;
  std::array<StringId, kArgCount> last_args;
};

// Raw tokens: quotes and escapes as written, perhaps with the white space behind them.
struct RawEvent {
  EventClass event_class = EventClass::skip;
  bool has_category = false;
  bool complete = false;     // its ph is told, and is one that is read
  bool is_half = false;      // ph "B" or "E": its end, or its beginning, is another event
  bool kept = false;         // it leaves a row
  char flow = 0;             // its ph, where that is "s" or "f"
  bool repeats_arg = false;  // an argument that rows keep is there twice; the later one counts
  std::string_view name, stamp, duration, pid, tid, id;
  ArgMask present = 0;
  std::array<std::string_view, kArgCount> args;
  KnownLayout* layout = nullptr;  // where it was read by one
};

}  // namespace skewscope::ingest
