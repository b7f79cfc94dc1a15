// trace_view.json: the timeline that torch_npu draws of a rank, events as in Chrome's format. What an event is, its
// arguments tell: the names of the processes ("Python", "CANN", "Ascend Hardware", "Communication") may come behind
// their events.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "src/ingest/content/defects.h"
#include "src/ingest/content/row_collector.h"

namespace skewscope::ingest {

// A collective as the timeline shows it.
struct DrawnCall {
  std::string_view name;  // "hcom_allReduce__612_4_1"
  LocalNs start;
  int64_t duration_ns = 0;
  int64_t correlation = -1;
  int64_t elements = -1;
  std::string_view dtype;
};

struct TraceViewEnd {
  int64_t bytes = 0, events = 0;
  const char* compression = "";
  bool is_ours = false;  // some event is of an NPU
};

// Kernels, copies, launches and steps go to `rows`, collectives to `take`.
TraceViewEnd read_trace_view(const std::string& file, RowCollector& rows,
                             const std::function<void(const DrawnCall&)>& take, DefectCounts& defects,
                             ReadProgress* progress);

}  // namespace skewscope::ingest
