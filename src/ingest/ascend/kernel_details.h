// kernel_details.csv: a line for each kernel of a rank, and for each collective, with stamps to the nanosecond. Streams
// and names, no launches.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "skewscope/base/time.h"
#include "src/ingest/content/defects.h"

namespace skewscope::ingest {

struct KernelLine {
  std::string_view name;
  std::string_view core;  // "AI_VECTOR_CORE", "COMMUNICATION"
  LocalNs start;
  int64_t duration_ns = 0;
  int32_t stream = -1;  // -1: not told
};

// take(line): false stops. Lines that lack a stamp or columns are counted as dropped. False: the file cannot be read,
// or has not the columns.
bool read_kernel_details(const std::string& file, const std::function<bool(const KernelLine&)>& take,
                         DefectCounts& defects);

}  // namespace skewscope::ingest
