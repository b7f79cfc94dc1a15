// By what calls were found to be one collective, and why a call is in none.
#pragma once

#include <cstdint>

namespace skewscope {

enum class MatchMethod : uint8_t {
  comms_id,     // equal "Comms Id", verified
  seq,          // equal (communicator, Seq), verified
  step,         // ProfilerStep#N fixed the shift, ends of calls confirmed it
  fingerprint,  // intervals between ends fixed the shift
};
const char* to_string(MatchMethod method);

enum class UnmatchedReason : uint8_t {
  alone,         // no other member's trace holds the call (missing rank, window edge, lost kernel)
  ambiguous,     // several shifts of the sequences explain it about equally well
  no_metadata,   // nothing tells group or operation, and neither ends nor order tell more
  causality,     // its partners would have finished before it started
  mismatch,      // equal Seq or Comms Id, but operation, type or size differ
  chained,       // messages join it to several calls of one rank, or to others without end
  group_of_one,  // a communicator of size 1: listed, never analysed
  one_sided,     // its kernel only sends and waits for nobody: all transfer
  copied,        // it ran as copies, which do not show what it waited
  own_devices,   // among the GPUs of one process: its members are calls of the same trace
};
const char* to_string(UnmatchedReason reason);
// Whether the call lacks members: not where others have no part in it.
constexpr bool lacks_members(UnmatchedReason reason) { return reason < UnmatchedReason::one_sided; }

}  // namespace skewscope
