// Problem: of thousands of ranks a page shows a few; which ones?
// Idea: a reader wants to see who made others wait, who waited, and what is usual. A quarter of the lanes each for the
// ranks that cause most waiting and for those that waited most; the rest spread evenly over the job. Of a small
// job all are shown, and a quarter is named in the same way.
#include "choose_ranks.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace skewscope::lanes {
namespace {

// The rows of the largest positive weights, `most` at most, and none below a tenth of the largest.
std::vector<size_t> heaviest(size_t count, size_t most, const std::function<int64_t(size_t)>& weight) {
  std::vector<size_t> rows(count);
  std::iota(rows.begin(), rows.end(), size_t{0});
  const auto last = rows.begin() + static_cast<std::ptrdiff_t>(std::min(most, count));
  std::partial_sort(rows.begin(), last, rows.end(),
                    [&](size_t a, size_t b) { return weight(a) != weight(b) ? weight(a) > weight(b) : a < b; });
  rows.erase(last, rows.end());
  const int64_t least = rows.empty() ? 0 : std::max<int64_t>(1, weight(rows.front()) / 10);
  std::erase_if(rows, [&](size_t row) { return weight(row) < least; });
  return rows;
}

}  // namespace

std::vector<ChosenTrace> choose_ranks(const Decomposition& decomposition, const Blame& blame) {
  const size_t count = decomposition.traces.size(), room = std::min(count, kMostLanes);
  std::vector<LaneReason> reason(count, LaneReason::whole_job);
  std::vector<bool> is_chosen(count, count <= kMostLanes);
  size_t chosen = 0;
  const auto choose = [&](size_t row, LaneReason why) {
    if (reason[row] != LaneReason::whole_job) return;
    is_chosen[row] = true;
    reason[row] = why;
    ++chosen;
  };
  const auto origin = [&](size_t row) { return row < blame.traces.size() ? blame.traces[row].origin_ns : 0; };
  const auto waited = [&](size_t row) { return decomposition.traces[row].parts.wait_ns; };
  const size_t quarter = std::max<size_t>(1, room / 4);
  for (const size_t row : heaviest(count, quarter, origin)) choose(row, LaneReason::culprit);
  for (const size_t row : heaviest(count, quarter, waited)) choose(row, LaneReason::victim);
  if (count > kMostLanes) {
    const size_t left = kMostLanes - chosen;
    for (size_t i = 0; i < left; ++i) choose(i * count / left, LaneReason::sample);
  }
  std::vector<ChosenTrace> traces;
  for (size_t row = 0; row < count; ++row) {
    if (is_chosen[row]) traces.push_back({TraceIndex(static_cast<int64_t>(row)), reason[row]});
  }
  return traces;
}

}  // namespace skewscope::lanes
