// Messages from one rank to another, on one clock -> which receive takes which send.
//
// Problem: kernels are lost on either side, windows begin and end at different places, and a message has no number.
// Idea: NCCL hands messages over in order, so the two sequences of a step are aligned as wholes: a pair costs as much
// as it is unlikely, a message without a partner what a lost kernel is unlikely, and each pair is as likely as all
// alignments together say that hold it (forward-backward: Durbin et al. 1998, 4.4). What a pair tells: nobody has
// received before the sender came; a receiver leaves a transfer after the later of the two came, and transfers of one
// size take about as long; a large message holds its sender until the receiver comes. Where a lost kernel was, a
// receiver that had to wait tells to the microsecond; one that came late tells nothing.
// Why right: believed is a pair only that is more likely than all alignments without it by a factor of some hundreds.
// Messages that no time tells apart are refused.
// Cost: O(n m) per step of n sends and m receives; longer steps than kMostCells are left to order.
// Source: how senders are buffered and receivers wait: src/align/METHOD.md, section 2, and recorded pipelines
// (tests/data/real).
#pragma once

#include <cstdint>
#include <vector>

#include "matcher.h"

namespace skewscope {

// Pairs that order joined before are kept in steps too long to align; in all others, too, where time neither tells nor
// refutes them, or not at all.
enum class OrderTells : uint8_t { long_steps, what_time_does_not };

// Pairs the messages of two members, which all go one way; their times are on one clock, right to `error_ns`. `lost`:
// the share of messages that one end lacks. `in_order`: what order joined.
MatchOutcome pair_messages(const std::vector<MemberCalls>& members, int64_t error_ns, double lost,
                           const MatchOutcome& in_order, OrderTells order);

// Whether some receive of the outcome ends before its send began, by more than `error_ns`. Times as above.
bool receives_unsent(const std::vector<MemberCalls>& members, const MatchOutcome& outcome, int64_t error_ns);

}  // namespace skewscope
