#include "collectives/synchronization.h"

namespace skewscope {

Dependency dependency_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
    case CollectiveKind::barrier:
    case CollectiveKind::send_recv:
      return Dependency::everyone;
    case CollectiveKind::broadcast:
    case CollectiveKind::scatter:
      return Dependency::root;
    case CollectiveKind::reduce:
    case CollectiveKind::gather:
      return Dependency::root_waits;
    case CollectiveKind::send:
    case CollectiveKind::recv:
    case CollectiveKind::coalesced:
      return Dependency::partners;
    case CollectiveKind::unknown:
      return Dependency::none;
  }
  return Dependency::none;
}

bool has_root(CollectiveKind kind) {
  return dependency_of(kind) == Dependency::root || dependency_of(kind) == Dependency::root_waits;
}

bool ends_together(CollectiveKind kind) { return dependency_of(kind) == Dependency::everyone; }

}  // namespace skewscope
