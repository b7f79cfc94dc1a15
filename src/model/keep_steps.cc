#include "skewscope/model/keep_steps.h"

#include <algorithm>
#include <iterator>

namespace skewscope {
namespace {

void keep_gpu_rows(const std::vector<bool>& rows, RankTrace& trace) {
  std::vector<bool> launches(trace.launches.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const int32_t launch = trace.gpu.launch[i];
    if (rows[i] && launch >= 0) launches[static_cast<size_t>(launch)] = true;
  }
  const std::vector<int32_t> new_launch = numbers_of(launches);
  for (int32_t& launch : trace.gpu.launch) {
    if (launch >= 0) launch = new_launch[static_cast<size_t>(launch)];
  }
  for_each_column(trace.gpu, [&](auto& column) { keep_rows(rows, column); });
  for_each_column(trace.launches, [&](auto& column) { keep_rows(launches, column); });
}

// `rows`: of calls, which they name by number.
template <class Row>
void keep_of_calls(const std::vector<bool>& calls, const std::vector<int32_t>& new_call, Column<Row>& rows) {
  std::vector<bool> keep(rows.size());
  for (size_t i = 0; i < keep.size(); ++i) {
    Row& row = rows[i];
    keep[i] = calls[static_cast<size_t>(row.call)];
    row.call = new_call[static_cast<size_t>(row.call)];
  }
  keep_rows(keep, rows);
}

}  // namespace

int64_t step_number_at(const std::vector<StepRange>& steps, LocalNs t) {
  const auto after = std::upper_bound(steps.begin(), steps.end(), t,
                                      [](LocalNs time, const StepRange& step) { return time < step.start; });
  if (after == steps.begin()) return -1;
  const StepRange& step = *std::prev(after);
  return t < step.start + step.duration_ns ? step.number : -1;
}

std::vector<int32_t> numbers_of(const std::vector<bool>& keep) {
  std::vector<int32_t> numbers(keep.size(), -1);
  int32_t next = 0;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i]) numbers[i] = next++;
  }
  return numbers;
}

std::vector<bool> gpu_rows_of_steps(const RankTrace& trace, const StepNumbers& steps) {
  std::vector<bool> keep(trace.gpu.size());
  for (size_t i = 0; i < keep.size(); ++i) {
    const int32_t launch = trace.gpu.launch[i];
    keep[i] = has_step(
        steps, launch < 0 ? -1 : step_number_at(trace.steps, trace.launches.start[static_cast<size_t>(launch)]));
  }
  return keep;
}

void keep_steps(const std::vector<bool>& gpu_rows, const std::vector<bool>& calls, const StepNumbers& steps,
                RankTrace& trace) {
  const std::vector<int32_t> new_gpu_row = numbers_of(gpu_rows);
  for (CollectiveCall& call : trace.calls) {
    if (call.gpu_row >= 0) call.gpu_row = new_gpu_row[static_cast<size_t>(call.gpu_row)];
  }
  keep_gpu_rows(gpu_rows, trace);
  std::vector<bool> synchronizing;
  for (const SynchronizingCall& call : trace.synchronizing) {
    synchronizing.push_back(has_step(steps, step_number_at(trace.steps, call.start)));
  }
  keep_rows(synchronizing, trace.synchronizing);
  const std::vector<int32_t> new_call = numbers_of(calls);
  keep_of_calls(calls, new_call, trace.messages);
  keep_of_calls(calls, new_call, trace.splits);
  keep_rows(calls, trace.calls);
  std::erase_if(trace.steps, [&](const StepRange& step) { return !has_step(steps, step.number); });
}

}  // namespace skewscope
