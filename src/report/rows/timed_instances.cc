#include "timed_instances.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace skewscope::report {
namespace {

TimedInstance instance_of(std::span<const JobReport::CallRow> calls) {
  TimedInstance instance{calls, calls.front().start_ns};
  for (const JobReport::CallRow& call : calls) {
    instance.arrival_ns = std::max(instance.arrival_ns, call.start_ns);
    instance.step = std::max(instance.step, call.step);
    instance.wait_ns += std::max<int64_t>(0, call.wait_ns);
  }
  return instance;
}

}  // namespace

std::vector<std::span<const JobReport::CallRow>> calls_by_instance(const std::vector<JobReport::CallRow>& calls) {
  std::vector<std::span<const JobReport::CallRow>> instances;
  for (size_t first = 0, next = 0; first < calls.size(); first = next) {
    while (next < calls.size() && calls[next].instance == calls[first].instance) ++next;
    instances.push_back(std::span(calls).subspan(first, next - first));
  }
  return instances;
}

std::vector<TimedInstance> timed_instances(const std::vector<JobReport::CallRow>& calls) {
  std::vector<TimedInstance> instances;
  for (const auto& one : calls_by_instance(calls)) {
    if (!one.front().basis.empty()) instances.push_back(instance_of(one));
  }
  std::sort(instances.begin(), instances.end(), [](const TimedInstance& a, const TimedInstance& b) {
    return std::tie(a.arrival_ns, a.calls.front().instance) < std::tie(b.arrival_ns, b.calls.front().instance);
  });
  for (size_t i = 1; i < instances.size(); ++i) {
    if (instances[i].step < 0) instances[i].step = instances[i - 1].step;
  }
  return instances;
}

std::optional<LongestWait> longest_wait(std::span<const JobReport::CallRow> calls) {
  const JobReport::CallRow* victim = &*std::max_element(
      calls.begin(), calls.end(),
      [](const JobReport::CallRow& a, const JobReport::CallRow& b) { return a.wait_ns < b.wait_ns; });
  const int64_t end = victim->start_ns + victim->wait_ns;
  const JobReport::CallRow* late = nullptr;
  for (const JobReport::CallRow& call : calls) {
    if (call.wait_ns > 0 || &call == victim) continue;
    if (late == nullptr || std::abs(call.start_ns - end) < std::abs(late->start_ns - end)) late = &call;
  }
  if (victim->wait_ns <= 0 || late == nullptr) return std::nullopt;
  return LongestWait{victim, late};
}

}  // namespace skewscope::report
