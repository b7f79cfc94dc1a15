#include "class_totals.h"

#include <algorithm>
#include <map>

#include "collectives/traffic.h"
#include "count_once.h"

namespace skewscope::attribute {
namespace {

constexpr int64_t kSmallest = 1000, kLargest = 1'000'000'000'000'000;

int64_t power_of_ten(int64_t bytes) {
  if (bytes <= 0) return -1;
  int64_t power = kSmallest;
  while (power < bytes && power < kLargest) power *= 10;
  return power;
}

}  // namespace

CallClass class_of(const CollectiveInstance& instance, const CollectiveCall& call, const GroupKinds& groups) {
  return {groups.of(instance.communicator), instance.kind, power_of_ten(instance.bytes), call.phase, call.module};
}

CallClass class_of(const CollectiveCall& call, const CommunicatorTable& communicators, const GroupKinds& groups) {
  const int64_t size = call.communicator.known() ? communicators[call.communicator].size : 1;
  const int64_t bytes = message_bytes(call.kind, call.dtype, call.in_elements, call.out_elements, size);
  return {groups.of(call.communicator), call.kind, power_of_ten(bytes), call.phase, call.module};
}

std::vector<ClassTotals> class_totals(std::vector<ClassedCall> calls, const BusyIntervals& busy) {
  std::map<CallClass, ClassTotals> sums;
  std::vector<TimedParts> timed;
  timed.reserve(calls.size());
  for (const ClassedCall& call : calls) {
    ClassTotals& sum = sums[call.of];
    ++sum.calls;
    sum.gpu_calls += call.on_gpu ? 1 : 0;
    sum.hidden_ns += call.parts.duration_ns() - call.parts.exposed_ns();
    timed.push_back({call.start, call.parts});
  }
  count_once(timed, busy);
  for (size_t i = 0; i < calls.size(); ++i) sums[calls[i].of].parts += timed[i].parts;
  std::vector<ClassTotals> rows;
  for (auto& [of, sum] : sums) {
    sum.of = of;
    rows.push_back(sum);
  }
  return rows;
}

std::vector<ClassTotals> merged(std::vector<ClassTotals> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const ClassTotals& a, const ClassTotals& b) { return a.of < b.of; });
  std::vector<ClassTotals> out;
  for (const ClassTotals& row : rows) {
    if (out.empty() || out.back().of != row.of) {
      out.push_back(row);
      continue;
    }
    ClassTotals& sum = out.back();
    sum.calls += row.calls;
    sum.gpu_calls += row.gpu_calls;
    sum.hidden_ns += row.hidden_ns;
    sum.parts += row.parts;
  }
  return out;
}

std::vector<ClassTotals> joined(const std::vector<std::vector<ClassTotals>>& of_traces) {
  std::vector<ClassTotals> all;
  for (const std::vector<ClassTotals>& rows : of_traces) all.insert(all.end(), rows.begin(), rows.end());
  return all;
}

}  // namespace skewscope::attribute
