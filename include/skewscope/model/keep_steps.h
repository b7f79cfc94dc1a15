// A trace reduced to what was launched in some of its steps (--steps): what its rows and calls have in common with one
// that was recorded over these steps only.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "skewscope/model/rank_trace.h"

namespace skewscope {

// Number of the step that contains `t`; -1: outside every step. `steps` sorted by start.
int64_t step_number_at(const std::vector<StepRange>& steps, LocalNs t);

// ProfilerStep numbers first <= number < second. What lies outside every step counts as step -1.
using StepNumbers = std::pair<int64_t, int64_t>;
inline bool has_step(const StepNumbers& span, int64_t step) { return step >= span.first && step < span.second; }

// Keeps those of `rows` whose entry of `keep` is set.
template <class Rows>
void keep_rows(const std::vector<bool>& keep, Rows& rows) {
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!keep[i]) continue;
    if (kept != i) rows[kept] = std::move(rows[i]);
    ++kept;
  }
  rows.resize(kept);
}

// New number of each kept row; -1 for the others.
std::vector<int32_t> numbers_of(const std::vector<bool>& keep);

// Per GPU row: whether it was launched in one of `steps`.
std::vector<bool> gpu_rows_of_steps(const RankTrace& trace, const StepNumbers& steps);

// Keeps GPU rows and calls whose entries are set, the launches and messages of these, and the ranges of `steps`. A call
// is kept with its GPU row.
void keep_steps(const std::vector<bool>& gpu_rows, const std::vector<bool>& calls, const StepNumbers& steps,
                RankTrace& trace);

}  // namespace skewscope
