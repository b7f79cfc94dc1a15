// The logs of NCCL's and RCCL's Inspector: JSON, one record a line.
#pragma once

#include <memory>

#include "src/ingest/content/trace_reader.h"

namespace skewscope::ingest {

// FileContent::format
constexpr const char* kInspectorLog = "nccl inspector log";

std::unique_ptr<TraceReader> make_inspector_reader(const ReaderSettings& settings);

}  // namespace skewscope::ingest
