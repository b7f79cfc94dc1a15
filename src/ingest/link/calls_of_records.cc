#include "calls_of_records.h"

#include <algorithm>

namespace skewscope::ingest {

bool CallsOfRecords::join(int32_t record, const CollectiveCall& kernel, const Column<int32_t>& devices,
                          Column<CollectiveCall>& calls) {
  const int32_t device = devices[static_cast<size_t>(kernel.gpu_row)];
  const auto next = static_cast<int32_t>(calls.size());
  int32_t& first = first_call_[static_cast<size_t>(record)];
  if (first < 0) {
    first = next;
    return false;
  }
  const auto is_of = [&](const CollectiveCall& call) {
    return call.stream == kernel.stream && devices[static_cast<size_t>(call.gpu_row)] == device;
  };
  int32_t known = first;
  if (!is_of(calls[static_cast<size_t>(first)])) {
    known = other_calls_.emplace(std::make_tuple(record, device, kernel.stream), next).first->second;
    if (known == next) return false;
  }
  CollectiveCall& call = calls[static_cast<size_t>(known)];
  call.duration_ns = std::max(call.end(), kernel.end()) - call.start;
  return true;
}

}  // namespace skewscope::ingest
