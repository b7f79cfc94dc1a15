// Problem: a profile of JAX has no steps of its own; what repeats is a program. Idea: of all programs the one that
// covers most of the device's time is the training step, and each execution is a step: from its first launch to that of
// the next. Where one execution ends: a TPU's plane lists them; on GPUs the host's range around the launches tells, and
// where there is none, the program begins anew when the row that it began with comes again.
#include "program_runs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace skewscope::ingest {
namespace {

struct Execution {
  LocalNs start, end;  // end: of the host's range, else the start
  int32_t thread = -1;
  int64_t run = -1;
};

bool is_run(const HostRange& range) { return range.number >= 0; }

// Executions of a TPU's program: of each the launch of the first row in it.
std::vector<Execution> executions_of_tpu(const DevicePlane& device, const std::vector<RowLaunch>& launch) {
  std::map<std::string_view, double> covered;  // sums of what a file says may be larger than any time
  for (const ProgramRun& run : device.runs) covered[run.program] += static_cast<double>(run.duration_ns);
  const auto most = std::max_element(covered.begin(), covered.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<Execution> executions;
  std::set<int64_t> seen;
  for (size_t i = 0; i < device.rows.size() && most != covered.end(); ++i) {
    const int64_t run = device.rows[i].correlation;
    if (run < 0 || !seen.insert(run).second) continue;
    if (device.runs[static_cast<size_t>(run)].program == most->first) {
      executions.push_back({launch[i].start, launch[i].start, launch[i].thread, -1});
    }
  }
  return executions;
}

// A program's number, where it is told, and its name.
using ProgramKey = std::pair<int64_t, std::string_view>;

ProgramKey program_of(const DeviceOp& op) { return {op.program, op.program_name}; }

// The program that covers most of a GPU's time.
std::optional<ProgramKey> main_program(const DevicePlane& device) {
  std::map<ProgramKey, double> covered;
  for (const DeviceRow& row : device.rows) {
    if (row.op < 0) continue;
    covered[program_of(device.ops[static_cast<size_t>(row.op)])] += static_cast<double>(row.duration_ns);
  }
  const auto most = std::max_element(covered.begin(), covered.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == covered.end() ? std::nullopt : std::optional(most->first);
}

std::vector<Execution> executions_of_gpu(const DevicePlane& device, const std::vector<RowLaunch>& launch,
                                         const HostPlane& host) {
  const std::optional<ProgramKey> program = main_program(device);
  std::vector<size_t> rows;
  for (size_t i = 0; i < device.rows.size(); ++i) {
    const int32_t op = device.rows[i].op;
    if (op >= 0 && program_of(device.ops[static_cast<size_t>(op)]) == program) rows.push_back(i);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) { return launch[a].start < launch[b].start; });
  const RangesByThread ranges(host.executions);
  std::map<const HostRange*, Execution> by_range;
  std::vector<Execution> by_first_row;
  size_t in_ranges = 0;
  for (const size_t i : rows) {
    const HostRange* around = ranges.around(launch[i].thread, launch[i].start, [](const HostRange&) { return true; });
    const HostRange* run = ranges.around(launch[i].thread, launch[i].start, is_run);
    if (around != nullptr) {
      ++in_ranges;
      by_range.emplace(around,
                       Execution{around->start, around->end(), launch[i].thread, run == nullptr ? -1 : run->number});
    }
    const DeviceRow& first = device.rows[rows.front()];
    const bool again = device.rows[i].op == first.op && *device.rows[i].name == *first.name;
    if (again) by_first_row.push_back({launch[i].start, launch[i].start, launch[i].thread, -1});
  }
  if (in_ranges * 10 < rows.size() * 9) return by_first_row;
  std::vector<Execution> executions;
  for (const auto& [range, execution] : by_range) executions.push_back(execution);
  return executions;
}

// Numbers of the user's steps around the executions; nullopt: not each has its own.
std::optional<std::vector<int64_t>> users_numbers(const std::vector<Execution>& executions, const HostPlane& host) {
  std::vector<int64_t> numbers;
  std::set<int64_t> seen;
  std::vector<HostRange> steps = host.steps;
  std::stable_sort(steps.begin(), steps.end(),
                   [](const HostRange& a, const HostRange& b) { return a.start < b.start; });
  for (const Execution& execution : executions) {
    const auto behind = std::upper_bound(steps.begin(), steps.end(), execution.start,
                                         [](LocalNs t, const HostRange& step) { return t < step.start; });
    if (behind == steps.begin() || (behind - 1)->end() < execution.start) return std::nullopt;
    if (!seen.insert((behind - 1)->number).second) return std::nullopt;
    numbers.push_back((behind - 1)->number);
  }
  return numbers;
}

std::vector<int64_t> step_numbers(const std::vector<Execution>& executions, const HostPlane& host) {
  if (const auto numbers = users_numbers(executions, host)) return *numbers;
  std::vector<int64_t> numbers;
  std::set<int64_t> seen;
  for (const Execution& execution : executions) {
    if (execution.run < 0 || !seen.insert(execution.run).second) break;
    numbers.push_back(execution.run);
  }
  if (numbers.size() == executions.size()) return numbers;
  numbers.clear();
  for (int64_t k = 0; k < std::ssize(executions); ++k) numbers.push_back(k);
  return numbers;
}

}  // namespace

RangesByThread::RangesByThread(const std::vector<HostRange>& ranges) {
  for (const HostRange& range : ranges) by_thread_[range.thread].push_back(&range);
  for (auto& [thread, of_thread] : by_thread_) {
    std::stable_sort(of_thread.begin(), of_thread.end(), [](const HostRange* a, const HostRange* b) {
      return a->start == b->start ? a->duration_ns > b->duration_ns : a->start < b->start;
    });
  }
}

size_t RangesByThread::first_behind(const std::vector<const HostRange*>& ranges, LocalNs t) {
  const auto behind = std::upper_bound(ranges.begin(), ranges.end(), t,
                                       [](LocalNs time, const HostRange* range) { return time < range->start; });
  return static_cast<size_t>(behind - ranges.begin());
}

std::vector<StepRow> steps_of_runs(const DevicePlane& device, const std::vector<RowLaunch>& launch,
                                   const HostPlane& host) {
  std::vector<Execution> executions =
      device.tpu ? executions_of_tpu(device, launch) : executions_of_gpu(device, launch, host);
  std::stable_sort(executions.begin(), executions.end(),
                   [](const Execution& a, const Execution& b) { return a.start < b.start; });
  const std::vector<int64_t> numbers = step_numbers(executions, host);
  LocalNs last{INT64_MIN};
  for (const RowLaunch& of_row : launch) last = std::max(last, of_row.start + 1);
  for (const Execution& execution : executions) last = std::max(last, execution.end);
  std::vector<StepRow> steps;
  for (size_t k = 0; k < executions.size(); ++k) {
    const LocalNs end = k + 1 < executions.size() ? executions[k + 1].start : last;
    steps.push_back({executions[k].start, std::max<int64_t>(end - executions[k].start, 0), numbers[k],
                     std::max(executions[k].thread, 0)});
  }
  return steps;
}

}  // namespace skewscope::ingest
