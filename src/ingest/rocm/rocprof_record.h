// One record of rocprofv3's JSON. Each value is asked for its error before use: a document may be damaged anywhere.
#pragma once

#include <simdjson.h>

#include <cstdint>

#include "rocm_parts.h"

namespace skewscope::ingest {

// What rows of all kinds have in common; -1: not told.
struct RocprofRecord {
  int64_t start_ns = -1, end_ns = -1, kind = -1, operation = -1, thread = 0, correlation = -1;
  int64_t agent = -1, kernel = -1, stream = -1, source_agent = -1, bytes = -1;
  DispatchGrids::Size grid{}, group{};
};
// False: damaged.
bool read_rocprof_record(simdjson::ondemand::object object, RocprofRecord& record);

// -1: no integer.
int64_t integer_of(simdjson::ondemand::value value);
// {"handle": 37946}, or the number.
int64_t handle_of(simdjson::ondemand::value value);

}  // namespace skewscope::ingest
