// Makes valid JSON of the event texts that tracers break. Reference: KINETO.md, section 10.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/ingest/content/defects.h"
#include "src/ingest/text/chunk_cutter.h"

namespace skewscope::ingest {

struct RepairedEvent {
  size_t end = 0;            // behind the event in the dirty text
  bool closed = false;       // its own closing brace was found
  bool open_string = false;  // the text ended inside a string
  int64_t quotes = 0;        // bare quotes that became text
  int64_t bytes = 0;         // bytes replaced
  int64_t brackets = 0;      // closers left out or added
  int64_t values = 0;        // that were absent, or that commas promised; of several words without quotes
};

// Writes the event that begins at text[begin] ('{') as valid JSON. Reads no further than `limit`; an event that is not
// closed there gets its closers. `backslash_ends`: a backslash before a quote that ends a value is text.
RepairedEvent repair_event(std::string_view text, size_t begin, size_t limit, bool backslash_ends, TextBuffer& clean);

// Writes what can be read of the event that `text` is: each key with a whole value behind it, those behind "args" as
// its arguments. For what repair_event() does not mend. False: nothing tells what the event is.
bool salvage_event(std::string_view text, TextBuffer& clean);

// Text of a JSON string (between its quotes). Escapes that are none are kept as written and counted.
void unescape(std::string_view raw, std::string& text, int64_t& bad_escapes);

}  // namespace skewscope::ingest
