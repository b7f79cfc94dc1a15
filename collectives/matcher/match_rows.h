// Calls of several members on one clock -> the rows that may be instances. Private to the matcher.
//
// Each member's clock is laid over the hub's (shift_search.h); then calls of equal signature whose ends lie together
// are one row. Calls whose members do not leave together are joined by order between the rows around them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "matcher.h"

namespace skewscope {

// A call with its end on the hub's clock.
struct Placed {
  uint64_t signature;
  int64_t start_ns, end_ns;
  int32_t member, call;
};

// Instances under construction: the parts of each, and how they were found.
struct Rows {
  std::vector<std::vector<Placed>> rows;
  std::vector<MatchedBy> method;
};

// Members whose clocks could be laid over one hub's.
struct Cluster {
  int32_t hub = -1;
  std::vector<int32_t> members;
  std::vector<ClockLine> lines;    // per entry of members: to the hub's clock
  std::vector<double> scatter_ns;  // per entry of members: of its ends around the line
  MatchedBy method = MatchedBy::fingerprint;
  int64_t tolerance_ns = 0;
  // Per entry of members: call j is the hub's call j + order, where that was what told.
  std::vector<std::optional<int64_t>> order;
  std::vector<std::vector<int32_t>> by_step;  // per entry of members: per call the hub's, where steps told
  bool lossy = false;                         // then order alone proves nothing
};

// What became of calls matched by time.
struct Timed {
  Rows rows;
  std::vector<std::vector<Refusal>> reason;  // per member and call, of those in no row
  std::vector<int32_t> cluster;
  bool settled = true;
  bool ends_agree = false;
};

// The members of a cluster whose place `keep` wants, around the same hub.
Cluster part_of(const Cluster& cluster, const std::function<bool(size_t)>& keep);

std::vector<int32_t> members_with_calls(const std::vector<MemberCalls>& members);

// Takes the one of `open` with most calls as hub and gathers all whose calls can be laid over it. Marks the members for
// whom several shifts tie.
Cluster gather_around_hub(const std::vector<MemberCalls>& members, const std::vector<int32_t>& open,
                          Membership membership, const MemberHints& hints, std::vector<bool>& ambiguous);

// The rows of a cluster: by ends, then by order; that of all calls tells only of members known to be a communicator's.
Rows rows_of(const std::vector<MemberCalls>& members, const Cluster& cluster, Membership membership);

// Whether all parts are in it together for half of what the shortest of them is.
bool meet(const std::vector<Placed>& row);

// Whether all parts run at one time, up to `slack_ns`: order alone does not make partners.
bool overlap(const std::vector<Placed>& row, int64_t slack_ns);

// Nobody leaves before those arrived whom it waits for, up to `slack_ns`: all, a receiver's sender; of roots nothing is
// known here.
bool causal(const std::vector<Placed>& row, const std::vector<MemberCalls>& members, int64_t slack_ns);

// Keeps the rows that obey causality; the others' calls get it as their reason.
void keep_causal(Rows rows, const std::vector<MemberCalls>& members, int64_t slack_ns, Timed& timed);

}  // namespace skewscope
