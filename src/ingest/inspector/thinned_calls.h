// Which calls of a long log are kept: the same of all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

constexpr FindingCode kLogThinned = "log-thinned";

// The same for all members of a collective, and for no other collective: numbers are counted per operation.
uint64_t key_of_calls(std::string_view communicator, std::string_view operation);
uint64_t id_of_call(uint64_t key, int64_t number);

// So many calls of a rank are kept: fewer where there are more ranks, so that a report's memory has a bound.
int64_t most_calls(int64_t ranks);

// One collective of `one_of`, a power of two, is kept; of twice as many, half of these.
bool is_kept(uint64_t id, int32_t one_of);

// What a finding says of it.
std::string thinned_words(int32_t one_of);

// Leaves out what RankTrace::one_of of another log of the job leaves out, and says so.
void thin_calls(int32_t one_of, TraceFile& log);

}  // namespace skewscope::ingest
