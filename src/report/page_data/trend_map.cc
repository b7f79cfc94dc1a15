#include "trend_map.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace skewscope::report {

TrendMap trend_map(const std::vector<TrendRow>& trend) {
  TrendMap map;
  std::map<std::pair<int32_t, int64_t>, size_t> column_of;
  std::set<int32_t> ranks;
  for (const TrendRow& row : trend) {
    column_of.emplace(std::pair(row.session, row.start_ns), 0);
    ranks.insert(row.rank);
  }
  map.ranks.assign(ranks.begin(), ranks.end());
  for (auto& [window, column] : column_of) {
    column = map.columns.size();
    map.columns.push_back({window.second, trend.front().duration_ns, window.first});
  }
  map.cells.assign(map.ranks.size(), std::vector<std::optional<TrendRow>>(map.columns.size()));
  for (const TrendRow& row : trend) {
    const auto at = std::lower_bound(map.ranks.begin(), map.ranks.end(), row.rank) - map.ranks.begin();
    map.cells[static_cast<size_t>(at)][column_of.at({row.session, row.start_ns})] = row;
  }
  return map;
}

}  // namespace skewscope::report
