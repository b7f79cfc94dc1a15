// The data of a job, and the way from a call back to its instance.
#pragma once

#include <vector>

#include "skewscope/model/clock_model.h"
#include "skewscope/model/decomposition.h"

namespace skewscope::blame {

struct JobView {
  const JobTrace& job;
  const InstanceTable& table;
  const ClockModel& clocks;
  const Decomposition& d;
  // Per trace and call: row of table.members; -1: unmatched. Only traces whose calls are known here have any.
  std::vector<std::vector<int32_t>> row_of_call;
  std::vector<int32_t> instance_of_row;  // per row of table.members

  JobView(const JobTrace& job, const InstanceTable& table, const ClockModel& clocks, const Decomposition& d);

  const CollectiveInstance& instance(size_t id) const { return table.instances[id]; }
  const CallRef& ref(size_t row) const { return table.members[row]; }
  const CollectiveCall& call(size_t row) const {
    return job[table.members[row].trace].calls[static_cast<size_t>(table.members[row].call)];
  }
  const CallSpan& span(size_t row) const { return table.spans[row]; }
  JobNs start(size_t row) const { return clocks.to_job(table.members[row].trace, span(row).start); }
  JobNs end(size_t row) const { return clocks.to_job(table.members[row].trace, span(row).end()); }
  // Row of the member of `id` that is `trace`'s; -1: it is none.
  int64_t row_of(size_t id, TraceIndex trace) const;
};

// `total` in whole numbers in proportion to the weights, which are not negative and not all 0; what does not divide
// goes to the largest. Sums to `total` exactly.
std::vector<int64_t> apportion(int64_t total, const std::vector<double>& weights);

}  // namespace skewscope::blame
