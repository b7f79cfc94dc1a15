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
// What no time tells apart is refused.
// Cost: O(n m) per step of n sends and m receives; steps of more than kMostCells are refused.
// Source: how senders are buffered and receivers wait: reference/kineto-format, and recorded pipelines
// (tests/data/real).
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/matcher.h"

namespace skewscope {

// Of two members whose messages all go one way, their times on one clock, which is right to `error_ns`. `lost`: the
// share of messages that one end lacks. `in_order`: what order told; of that stays what time neither tells nor refutes.
MatchOutcome pair_messages(const std::vector<MemberCalls>& members, int64_t error_ns, double lost,
                           const MatchOutcome& in_order = {});

// Whether some receive of the outcome ends before its send began, by more than `error_ns`. Times as above.
bool receives_unsent(const std::vector<MemberCalls>& members, const MatchOutcome& outcome, int64_t error_ns);

}  // namespace skewscope
