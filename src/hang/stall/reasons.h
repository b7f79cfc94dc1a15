// A culprit of each kind, in words and with its stacks.
#pragma once

#include <string>

#include "src/hang/stall/culprits.h"

namespace skewscope::hang {

// "all_reduce 41 of group 7 (DATA_PARALLEL_GROUP)"; `seq` -1: "send 0->1 in group 7".
std::string call_words(const GroupTable& table, int32_t group, int64_t seq, const std::string& operation);
// What members call it: of the first that has it in its ring.
std::string operation_of(const Group& group, int64_t seq);

Culprit describe_missing(const Evidence& evidence, int32_t rank, int32_t witness);
Culprit describe_without_dump(const Evidence& evidence, int32_t rank, int32_t witness);
Culprit describe_stuck(const Evidence& evidence, int32_t rank);
Culprit describe_through(const Evidence& evidence, int32_t rank, int32_t group, int64_t seq);
Culprit describe_not_started(const Evidence& evidence, int32_t rank, int32_t started, int32_t group, int64_t seq);
Culprit describe_any(const Evidence& evidence, int32_t rank, int32_t group, int64_t seq);
Culprit describe_order(const Evidence& evidence, int32_t rank, Certainty certainty);
Culprit describe_left_out(const Evidence& evidence, int32_t rank, int32_t group);
Culprit describe_silent(const Evidence& evidence, int32_t rank);
Culprit describe_mismatch(const Evidence& evidence, int32_t rank, const Mismatch& mismatch);
Culprit describe_unread(const Evidence& evidence, int32_t rank, int32_t other, bool sends);
Culprit describe_unwitnessed(const Evidence& evidence, int32_t rank);

}  // namespace skewscope::hang
