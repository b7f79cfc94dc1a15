// communication.json: for each collective of a rank when it began, how long it took and how long the device waited in
// it. No kernels, no sizes of messages; stamps of a double of microseconds, which steps by 250 ns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/base/result.h"
#include "skewscope/base/time.h"
#include "src/ingest/content/defects.h"
#include "src/ingest/content/memory_budget.h"

namespace skewscope::ingest {

struct TimedCall {
  std::string name;  // "hcom_allReduce__612_4_1@5862276093215481612"
  LocalNs start;
  int64_t duration_ns = 0;
  int64_t wait_ns = 0;  // 0: the device tells of none
};

struct TimedCalls {
  std::vector<TimedCall> calls;  // as they lie in the file
  int64_t bytes = 0;             // of the text, uncompressed
  const char* compression = "";
  bool is_ours = false;  // the text has the form
};

constexpr int64_t kLargestCommunicationJson = int64_t{1} << 30;  // a million calls

// Calls without a start or a duration are counted as dropped. Errors: resource_limit.
Result<TimedCalls> read_communication_json(const std::string& file, MemoryBudget& budget, DefectCounts& defects);

}  // namespace skewscope::ingest
