#include "own_devices.h"

#include <algorithm>
#include <map>

namespace skewscope::ingest {
namespace {

using CallsOfDevices = std::map<int32_t, std::vector<CollectiveCall*>>;

// Whether the k-th calls of all devices were under way at one moment.
bool overlap(const CallsOfDevices& devices, size_t k) {
  LocalNs last_start{INT64_MIN}, first_end{INT64_MAX};
  for (const auto& [device, calls] : devices) {
    last_start = std::max(last_start, calls[k]->start);
    first_end = std::min(first_end, calls[k]->end());
  }
  return last_start <= first_end;
}

}  // namespace

int64_t join_own_devices(const GpuEvents& gpu, LinkedTrace& linked) {
  RankTrace& trace = linked.trace;
  std::map<CollectiveKind, CallsOfDevices> kinds;
  for (size_t i = 0; i < trace.calls.size(); ++i) {
    CollectiveCall& call = trace.calls[i];
    if (call.gpu_row < 0 || linked.open_calls[i].group >= 0 || !call.waits) continue;
    kinds[call.kind][gpu.device[static_cast<size_t>(call.gpu_row)]].push_back(&call);
  }
  int32_t next = 0;
  int64_t joined = 0;
  for (auto& [kind, devices] : kinds) {
    const size_t count = devices.begin()->second.size();
    const bool even =
        std::all_of(devices.begin(), devices.end(), [&](const auto& own) { return own.second.size() == count; });
    if (devices.size() < 2 || !even) continue;
    for (size_t k = 0; k < count; ++k) {
      if (!overlap(devices, k)) continue;
      for (auto& [device, calls] : devices) calls[k]->together = next;
      joined += std::ssize(devices);
      ++next;
    }
  }
  return joined;
}

}  // namespace skewscope::ingest
