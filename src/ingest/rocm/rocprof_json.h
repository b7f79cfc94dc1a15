// rocprofv3's JSON (--output-format json): one document, with the rows of a process in lists of objects.
#pragma once

#include <memory>

#include "src/ingest/content/trace_reader.h"

namespace skewscope::ingest {

std::unique_ptr<TraceReader> make_rocprof_reader(const ReaderSettings& settings);

}  // namespace skewscope::ingest
