// Several groups that run side by side: which members are one group? Asked where no trace names a group.
//
// Problem: groups that the same step holds in line end their calls within microseconds of each other, and late members
// that would prove who waits for whom (group_proof.h) need not be.
// Idea: members of one group leave together, so that the difference of their ends is chance alone from call to call;
// that of members of different groups also holds what their last arrivals and their transfers differ by. So the scatter
// of the differences of *pairs* of members falls into blocks. Members are joined by it, closest first (average
// linkage), and cut where all blocks are of one size. Why right: a cut counts only if its blocks' means vary from call
// to call by more than members vary around them (analysis of variance, Fisher's F, of all cuts there may be:
// Bonferroni), and if no exchange of two members explains the ends nearly as well (likelihood ratio). Blocks in blocks
// are looked for in turn. What is constant, as clocks' offsets, cancels. What blocks are not: nodes whose clocks wander
// apart make blocks of one group, too; that is the caller's to rule out. Cost: O(members^3 + members^2 * calls), of at
// most 256 calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "group_proof.h"

namespace skewscope {

using Blocks = std::vector<std::vector<size_t>>;  // members of each, ascending

// The blocks, all of one size (`size`; 0: any) and of two members or more; one block where nothing hints at several;
// none where something does and proves none.
Blocks blocks_of(const std::vector<JointCall>& calls, size_t size = 0);

// Something else may name blocks of one size, such as the groups of other calls: whether these calls' ends fall into
// them, too. one_group: they do not, though the blocks' last arrivals differ by so much that they had to.
enum class Division : uint8_t { undecided, blocks, one_group };
Division division_of(const std::vector<JointCall>& calls, const Blocks& blocks);

// Whether two blocks may be one group whose calls were counted from another one on, as where two recordings began a
// step apart: ends of the calls a few further on lie nearly as close as the members of a block do. True, too, for calls
// too few to tell. Cost: O(blocks^2 * calls^2), of at most 256 calls and 32 blocks; of more, neighbours are compared.
bool may_be_shifted(const std::vector<JointCall>& calls, const Blocks& blocks);

}  // namespace skewscope
