// Drops what no report needs before JSON is parsed.
//
// Problem: three quarters of a trace are CPU ops, python functions and flow arrows of which nothing is kept; indexing
// and walking their JSON is most of the cost of reading. Idea: where the text is laid out (laid_out_events.h), the ends
// of events are found by their braces, and an event that begins with `"ph"`, `"cat"`, `"name"` in this order says
// itself whether anything of it is kept; the text of those that are not is left out, and only the rest is given to
// simdjson. Why right: what is left out is one whole event. Where the layout ends all that follows is kept, so damage
// between events and an event that swallowed another reach the parser and its repair, and the last event of a chunk is
// always kept. Damage inside an event that would leave no row is not seen. Tests hold the sieve against the parser
// alone. Cost: one pass over the text and a copy of what is kept.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "chunk_cutter.h"
#include "chunk_rows.h"

namespace skewscope::ingest {

class EventSieve {
 public:
  // Copies `text` without the events that are not kept; counts them in `rows`. False: another layout, nothing was done.
  bool sift(std::string_view text, TextBuffer& kept, ChunkRows& rows);
  // Whether an event was left out behind a place of the kept text.
  bool dropped_behind(size_t place) const;
  // Where a place of the kept text stands in the text it came from.
  size_t original_place(size_t place) const;

 private:
  struct Span {
    size_t begin;  // in the kept text
    size_t shift;  // original place minus place in the kept text
  };
  std::vector<Span> spans_;
};

}  // namespace skewscope::ingest
