#include "relative_calls.h"

#include <algorithm>

namespace skewscope::digest {
namespace {

// Modulo 2^64: what a damaged digest says must not overflow.
int64_t plus(int64_t a, int64_t b, int sign) {
  const auto wide = static_cast<uint64_t>(b);
  return static_cast<int64_t>(static_cast<uint64_t>(a) + (sign > 0 ? wide : ~wide + 1));
}

// Adds (`sign` 1) or subtracts (-1) what the rows behind the call say.
void shift_call(const RankTrace& trace, int sign, CollectiveCall& call) {
  const auto row = static_cast<size_t>(call.gpu_row);
  const LocalNs start = trace.gpu.start[row];
  call.start.ns = plus(call.start.ns, start.ns, sign);
  call.duration_ns = plus(call.duration_ns, trace.gpu.duration_ns[row], sign);
  call.stream = static_cast<int32_t>(plus(call.stream, trace.gpu.stream[row], sign));
  const int32_t launch = trace.gpu.launch[row];
  const LocalNs launch_start = launch < 0 ? start : trace.launches.start[static_cast<size_t>(launch)];
  const int64_t launch_duration_ns = launch < 0 ? 0 : trace.launches.duration_ns[static_cast<size_t>(launch)];
  call.launch_start.ns = plus(call.launch_start.ns, launch_start.ns, sign);
  call.launch_duration_ns = plus(call.launch_duration_ns, launch_duration_ns, sign);
}

// What came from outside may have columns of different lengths.
template <class Events>
int64_t shortest_column(const Events& events) {
  size_t rows = events.size();
  for_each_column(events, [&](const auto& column) { rows = std::min(rows, column.size()); });
  return static_cast<int64_t>(rows);
}

}  // namespace

Column<CollectiveCall> relative_calls(const RankTrace& trace) {
  Column<CollectiveCall> calls = trace.calls;
  for (CollectiveCall& call : calls) {
    if (call.gpu_row >= 0) shift_call(trace, -1, call);
  }
  return calls;
}

bool make_calls_absolute(RankTrace& trace) {
  const auto rows = shortest_column(trace.gpu), launches = shortest_column(trace.launches);
  for (CollectiveCall& call : trace.calls) {
    if (call.gpu_row < 0) continue;
    if (call.gpu_row >= rows || trace.gpu.launch[static_cast<size_t>(call.gpu_row)] >= launches) return false;
    shift_call(trace, 1, call);
  }
  return true;
}

}  // namespace skewscope::digest
