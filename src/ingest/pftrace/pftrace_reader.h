// Traces of Perfetto (.pftrace): as PyTorch writes them, and rocprofv3 (--output-format pftrace).
#pragma once

#include <memory>

#include "src/ingest/content/trace_reader.h"

namespace skewscope::ingest {

std::unique_ptr<TraceReader> make_pftrace_reader(const ReaderSettings& settings);

}  // namespace skewscope::ingest
