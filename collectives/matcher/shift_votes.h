// Which offset of two clocks do votes name, and may it be believed?
//
// Problem: each pair of calls that may be one collective votes for an offset (shift_search.h). Where the members
// recorded different steps of a job that repeats itself, or where it repeats itself within a step, a wrong offset may
// get more votes than the right one, and always does where the members share no call.
// Idea: ends of one collective agree to microseconds, those of repetitions scatter with everything in between. So the
// densest window must beat the next one twice, at some width down to a microsecond. What the traces themselves say of
// the two clocks is asked as well:
// - Members of one host read one clock: offsets within a millisecond come first, and a larger one is believed only
//   where calls that should meet on one clock do not: equal host names of containers.
// - A window whose pairs name different steps (ProfilerStep#N) is another step, unless the wall clocks say that the
//   numbers are counted differently, or several whole steps fit.
// - Where windows tie, equal places in steps of one number decide, then synchronised wall clocks; else nothing does.
// Cost: O(v) per width, for v sorted votes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "clock_line.h"

namespace skewscope {

// How the steps that two calls name compare. same_place: both are the k-th of as many calls of one signature in the
// same step.
enum class VoteSteps : uint8_t { unnamed, different, same, same_place };

// An offset and, in the lowest bits, what the two calls' steps say: votes sort as plain numbers.
class Vote {
 public:
  Vote() = default;
  Vote(int64_t offset_ns, VoteSteps steps) : bits_(offset_ns * 4 + static_cast<int64_t>(steps)) {}
  int64_t offset_ns() const { return bits_ >> 2; }
  VoteSteps steps() const { return static_cast<VoteSteps>(bits_ & 3); }
  int64_t bits() const { return bits_; }

 private:
  int64_t bits_ = 0;
};

struct VoteContext {
  std::optional<Prior> prior;
  bool one_host = false;     // both traces name the same host
  bool named = false;        // the calls name their group: where few votes are refused, order may tell (causal_shift.h)
  int64_t tolerance_ns = 0;  // how close ends of one collective must lie
  int64_t common_calls = 0;  // that each recorded while the other did, if their clocks are one
  int64_t step_ns = 0;       // length of a step, or less
  int64_t step_calls = 0;    // calls of a step
};

enum class ShiftEvidence : uint8_t { none, ambiguous, step, fingerprint, prior };

struct Winner {
  int64_t offset_ns = 0;  // unless none or ambiguous
  ShiftEvidence evidence = ShiftEvidence::none;
};

// Sorts by offset; many by counting digits (LSD radix sort): hundreds of thousands of votes lie within seconds. `spare`
// is room to work in, kept from call to call.
void sort_votes(std::vector<Vote>& votes, std::vector<Vote>& spare);

// `votes` are sorted.
Winner judge(std::span<const Vote> votes, const VoteContext& context);

}  // namespace skewscope
