#include "collectives/traffic.h"

#include <algorithm>

namespace skewscope {
namespace {

// Elements that S counts; -1 where the needed count is absent.
int64_t counted_elements(CollectiveKind kind, int64_t in_elements, int64_t out_elements, int64_t members) {
  switch (kind) {
    case CollectiveKind::all_gather:
      // Old traces record the input alone.
      return out_elements >= 0 ? out_elements : (in_elements >= 0 ? in_elements * members : -1);
    case CollectiveKind::gather:
      return in_elements >= 0 ? in_elements * members : -1;
    case CollectiveKind::scatter:
      return out_elements >= 0 ? out_elements * members : -1;
    case CollectiveKind::recv:
    case CollectiveKind::send_recv:
      return std::max(in_elements, out_elements);
    case CollectiveKind::unknown:
    case CollectiveKind::barrier:
      return -1;
    case CollectiveKind::all_reduce:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::send:
    case CollectiveKind::coalesced:
      return in_elements;
  }
  return -1;
}

}  // namespace

int64_t message_bytes(CollectiveKind kind, DType type, int64_t in_elements, int64_t out_elements, int64_t members) {
  const int64_t elements = counted_elements(kind, in_elements, out_elements, members);
  int64_t bytes = 0;
  if (elements < 0 || __builtin_mul_overflow(elements, element_bytes(type), &bytes)) return 0;
  return bytes;
}

double bus_bandwidth_factor(CollectiveKind kind, int64_t members) {
  if (members < 2) return 0;
  const auto n = static_cast<double>(members);
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
      return (n - 1) / n;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::send:
    case CollectiveKind::recv:
    case CollectiveKind::send_recv:
      return 1;
    case CollectiveKind::unknown:
    case CollectiveKind::barrier:
    case CollectiveKind::coalesced:
      return 0;
  }
  return 0;
}

}  // namespace skewscope
