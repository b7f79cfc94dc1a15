// How far apart are clocks that no group alone can tell, but several groups together?
//
// Problem: in a trace of one or two steps, a pipeline's stages share a message or two per pair of ranks and one
// all-reduce: none of these groups has calls enough to be matched alone. Idea: ranks whose groups did match are on one
// clock; all calls that two such components share, of whatever group, imply the same offset between them. Calls at
// equal places in steps of one number are paired, the k-th of as many of one group and signature; believed is an offset
// at which at least three pairs end together and none contradicts cause and effect, or one that cause and effect alone
// bound to a millisecond. Why right: intervals between calls of different groups are as good as those between calls of
// one; three of them agree to 50 us by chance hardly ever. Where ranks number their steps differently, clocks as
// recorded explain as many calls, and nothing is believed. Cost: O(n log n) over calls of unsettled groups; pairs of
// components are tried along a star per group.
#pragma once

#include "coarse_offsets.h"

namespace skewscope::matching {

// Puts components of `coarse` on one clock where their unsettled groups together tell how far apart they are. `groups`
// are those this process owns; all processes come to the same offsets.
void join_components(const std::vector<CallGroup>& groups, const std::vector<MatchOutcome>& outcomes,
                     Exchange& exchange, CoarseOffsets& coarse);

}  // namespace skewscope::matching
