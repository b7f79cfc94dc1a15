#include "step_rows.h"

#include <map>
#include <tuple>

namespace skewscope::report {

std::vector<JobReport::StepRow> step_rows(const Rooms& rooms) {
  std::vector<JobReport::StepRow> rows;
  for (const JobStep& step : rooms.decomposition.steps) {
    rows.push_back(
        {step.session.value, step.number, step.start.ns - rooms.clocks.reference_ns, step.duration_ns, step.traces});
  }
  return rows;
}

std::vector<JobReport::RankStep> rank_steps(const Rooms& rooms) {
  const Decomposition& d = rooms.decomposition;
  std::vector<JobReport::RankStep> rows;
  for (const TraceStep& own : d.trace_steps) {
    const StepParts& p = own.parts;
    if (p.sum_ns() == 0) continue;
    const JobStep& step = d.steps[static_cast<size_t>(own.step)];
    const RankTrace& trace = rooms.job[own.trace];
    rows.push_back({trace.rank.value, trace.session.value, step.number, p.compute_ns, p.exposed_transfer_ns,
                    p.exposed_wait_ns, p.exposed_unattributed_ns, p.exposed_memcpy_ns, p.idle_ns});
  }
  return rows;
}

std::vector<JobReport::CollectiveStep> collective_steps(const Rooms& rooms) {
  std::map<std::tuple<int32_t, CollectiveKind, DType, int64_t, int32_t, int64_t>, JobReport::CollectiveStep> sums;
  for (size_t i = 0; i < rooms.instances.instances.size(); ++i) {
    const InstanceView view(rooms, i);
    const CollectiveInstance& c = view.instance;
    if (!view.split()) continue;
    for (size_t m = 0; m < view.size(); ++m) {
      const int64_t step = view.call(m).step;
      if (step < 0) continue;
      JobReport::CollectiveStep& sum = sums[{c.communicator.value, c.kind, c.dtype, c.bytes, c.session.value, step}];
      const CallParts& parts = view.parts(m);
      ++sum.calls;
      sum.wait_ns += parts.wait_ns;
      sum.transfer_ns += parts.transfer_ns;
      sum.exposed_wait_ns += parts.exposed_wait_ns;
      sum.exposed_transfer_ns += parts.exposed_transfer_ns;
    }
  }
  std::vector<JobReport::CollectiveStep> rows;
  rows.reserve(sums.size());
  for (auto& [key, row] : sums) {
    row.communicator = std::get<0>(key);
    row.op = to_string(std::get<1>(key));
    row.dtype = to_string(std::get<2>(key));
    row.bytes = std::get<3>(key);
    row.session = std::get<4>(key);
    row.step = std::get<5>(key);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace skewscope::report
