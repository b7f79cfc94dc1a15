// Makes valid JSON of the event texts that tracers break. Reference: KINETO.md, section 10.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/ingest/text/chunk_cutter.h"

namespace skewscope::ingest {

constexpr size_t kLongestKey = 256;  // of an event or its arguments; what is longer is text

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

}  // namespace skewscope::ingest
