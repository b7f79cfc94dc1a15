#include "timed_instances.h"

#include <algorithm>
#include <tuple>

namespace skewscope::report {
namespace {

TimedInstance instance_of(std::span<const JobReport::CallRow> calls) {
  TimedInstance instance{calls, calls.front().start_ns};
  for (const JobReport::CallRow& call : calls) {
    instance.arrival_ns = std::max(instance.arrival_ns, call.start_ns);
    instance.step = std::max(instance.step, call.step);
    instance.wait_ns += call.wait_ns;
  }
  return instance;
}

}  // namespace

std::vector<TimedInstance> timed_instances(const std::vector<JobReport::CallRow>& calls) {
  std::vector<TimedInstance> instances;
  for (size_t first = 0, next = 0; first < calls.size(); first = next) {
    while (next < calls.size() && calls[next].instance == calls[first].instance) ++next;
    if (!calls[first].basis.empty()) instances.push_back(instance_of({&calls[first], next - first}));
  }
  std::sort(instances.begin(), instances.end(), [](const TimedInstance& a, const TimedInstance& b) {
    return std::tie(a.arrival_ns, a.calls.front().instance) < std::tie(b.arrival_ns, b.calls.front().instance);
  });
  for (size_t i = 1; i < instances.size(); ++i) {
    if (instances[i].step < 0) instances[i].step = instances[i - 1].step;
  }
  return instances;
}

}  // namespace skewscope::report
