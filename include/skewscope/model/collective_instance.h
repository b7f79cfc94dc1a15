// Room: one collective as all its members saw it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "skewscope/model/job_trace.h"

namespace skewscope {

// One call: row `call` of traces[trace].calls.
struct CallRef {
  TraceIndex trace;
  int32_t call = -1;

  friend auto operator<=>(const CallRef&, const CallRef&) = default;
};

// When a call ran, on its own rank's clock.
struct CallSpan {
  LocalNs start;
  int64_t duration_ns = 0;

  LocalNs end() const { return start + duration_ns; }
};

// In an instance of batches, two for each message, one of either end: rows of InstanceTable::members.
struct BatchLink {
  uint32_t row = 0, partner = 0;
  bool receives = false;  // `row` from `partner`; else it sends to it

  friend auto operator<=>(const BatchLink&, const BatchLink&) = default;
};

enum class MatchMethod : uint8_t {
  comms_id,     // equal "Comms Id", verified
  seq,          // equal (communicator, Seq), verified
  step,         // ProfilerStep#N fixed the shift, ends of calls confirmed it
  fingerprint,  // intervals between ends fixed the shift
};
const char* to_string(MatchMethod method);

struct CollectiveInstance {
  CommunicatorId communicator;
  SessionId session;
  // send for a send/recv pair; send_recv for two that both send and receive; coalesced for calls that messages join
  // where some call has several partners
  CollectiveKind kind = CollectiveKind::unknown;
  DType dtype = DType::unknown;
  int64_t bytes = 0;          // S of traffic.h; for all_to_all the largest of the members; 0: unknown
  int32_t ordinal = 0;        // position among the instances of its communicator and session, by time
  int64_t seq = -1;           // "Seq" where recorded
  uint32_t first_member = 0;  // members are InstanceTable::members[first_member .. first_member + member_count)
  uint32_t member_count = 0;
  int32_t special = -1;  // position of the member whom the dependency of the operation hangs on
                         // (collectives/synchronization.h): the root, the sender of a pair; -1: it hangs on none,
                         // or that one is not there or not recorded
  // Members it should have: communicator size; 2 for a send/recv pair; of batches those that are there, and one more
  // for each message that has no partner.
  int32_t expected = 0;
  bool complete = false;      // every expected member is there
  bool sizes_differ = false;  // members disagree on the size where they must not (everything but all_to_all)
  MatchMethod method = MatchMethod::fingerprint;
};

enum class UnmatchedReason : uint8_t {
  alone,         // no other member's trace holds the call (missing rank, window edge, lost kernel)
  ambiguous,     // several shifts of the sequences explain it about equally well
  no_metadata,   // nothing tells group or operation, and no ends agree
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

struct UnmatchedCall {
  CallRef call;
  UnmatchedReason reason = UnmatchedReason::alone;
  StringId kernel{};  // its name; none for a CPU backend
};

struct InstanceTable {
  std::vector<CollectiveInstance> instances;  // sorted by (session, communicator, ordinal)
  std::vector<CallRef> members;               // of instance 0, then of 1, …; within one sorted by trace
  std::vector<CallSpan> spans;                // row = row of `members`
  std::vector<BatchLink> links;               // of coalesced instances; sorted
  std::vector<UnmatchedCall> unmatched;       // sorted by call
  // The job's communicators, plus the inferred ones; ids of JobTrace::communicators stay valid.
  CommunicatorTable communicators;
  Findings findings;
  // Some group could not be matched alone (it was, or was not, by clocks known to a millisecond only), or messages have
  // no partner: fitted clocks may tell more.
  bool clocks_may_tell = false;
};

// Those of row `row` of the members.
std::span<const BatchLink> links_of(const InstanceTable& table, uint32_t row);

// Every call of the job is in exactly one instance or in `unmatched`.
std::string check_invariants(const InstanceTable& table, const JobTrace& job);

}  // namespace skewscope
