#include "job_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace skewscope::blame {

JobView::JobView(const JobTrace& j, const InstanceTable& t, const ClockModel& c, const Decomposition& parts)
    : job(j), table(t), clocks(c), d(parts), instance_of_row(t.members.size(), -1) {
  for (const RankTrace& trace : job.traces) row_of_call.emplace_back(trace.calls.size(), -1);
  for (size_t id = 0; id < table.instances.size(); ++id) {
    const CollectiveInstance& i = table.instances[id];
    for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      instance_of_row[row] = static_cast<int32_t>(id);
      std::vector<int32_t>& rows = row_of_call[ref(row).trace.index()];
      if (!rows.empty()) rows[static_cast<size_t>(ref(row).call)] = static_cast<int32_t>(row);
    }
  }
}

int64_t JobView::row_of(size_t id, TraceIndex trace) const {
  const CollectiveInstance& i = table.instances[id];
  const auto begin = table.members.begin() + i.first_member, end = begin + i.member_count;
  const auto at = std::lower_bound(begin, end, trace, [](const CallRef& a, TraceIndex t) { return a.trace < t; });
  return at == end || at->trace != trace ? -1 : at - table.members.begin();
}

std::vector<int64_t> apportion(int64_t total, const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int64_t> parts(weights.size(), 0);
  int64_t left = total;
  for (size_t i = 0; i < weights.size(); ++i) {
    parts[i] = static_cast<int64_t>(std::floor(static_cast<double>(total) * (weights[i] / sum)));
    left -= parts[i];
  }
  parts[static_cast<size_t>(std::max_element(weights.begin(), weights.end()) - weights.begin())] += left;
  return parts;
}

}  // namespace skewscope::blame
