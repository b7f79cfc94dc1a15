// Drops what no report needs before JSON is parsed.
//
// Problem: three quarters of a trace are CPU ops, python functions and flow arrows of which nothing is kept; indexing
// and walking their JSON is most of the cost of reading. Idea: where the text is laid out (laid_out_events.h), the ends
// of events are found by their braces, and an event that begins with `"ph"`, `"cat"`, `"name"` in this order says
// itself whether anything of it is kept; those that are not never reach simdjson. Why right: what is left out is one
// whole event. Where the layout ends all that follows is parsed, so damage between events and an event that swallowed
// another reach the parser and its repair, and so does the last event of a chunk. Damage inside an event that would
// leave no row is not seen. Tests hold the sieve against the parser alone. Cost: one pass over the text.
#pragma once

#include <string_view>

#include "chunk_rows.h"

namespace skewscope::ingest {

// Whether an event, from its opening brace to its closing one, leaves a row or has to be looked at by the parser.
// Counts a CPU op that leaves none. With `details` every host row and GPU annotation passes.
bool passes_sieve(std::string_view event, bool details, ChunkRows& rows);

}  // namespace skewscope::ingest
