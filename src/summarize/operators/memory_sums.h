// Memory: what operators allocated, and what stood when most was held.
#pragma once

#include <cstdint>
#include <vector>

#include "operator_view.h"

namespace skewscope::summarize {

// Per row of HostEvents: bytes allocated less bytes freed. Empty where the trace has no memory events.
struct MemoryChanges {
  std::vector<int64_t> host_self, host_total, gpu_self, gpu_total;

  bool none() const { return host_self.empty(); }
};
MemoryChanges memory_changes(const OperatorView& view);

void add_memory(const OperatorView& view, OperatorTables& tables);

}  // namespace skewscope::summarize
