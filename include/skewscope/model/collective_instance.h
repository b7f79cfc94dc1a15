// Data: one collective as all its members saw it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collectives/matcher/match_method.h"
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
  Algorithm algorithm = Algorithm::unknown;  // of the library, where the members' tracer tells them
  Protocol protocol = Protocol::unknown;
};

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
