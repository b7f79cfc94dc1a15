// The reader of JAX's profiles (*.xplane.pb): XSpace messages of XLA's profiler, of GPUs and TPUs.
#pragma once

#include <memory>

#include "src/ingest/content/trace_reader.h"

namespace skewscope::ingest {

std::unique_ptr<TraceReader> make_xplane_reader(const ReaderSettings& settings);

}  // namespace skewscope::ingest
