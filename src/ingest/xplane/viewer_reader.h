// The reader of what XLA's trace viewer shows: "<host>.trace.json.gz".
#pragma once

#include <memory>

#include "src/ingest/content/trace_reader.h"

namespace skewscope::ingest {

std::unique_ptr<TraceReader> make_xla_viewer_reader(const ReaderSettings& settings);

}  // namespace skewscope::ingest
