// The text form of Ascend's profiles: trace_view.json, or communication.json where it is all there is, with what lies
// around it.
#pragma once

#include <memory>

#include "src/ingest/content/trace_reader.h"

namespace skewscope::ingest {

std::unique_ptr<TraceReader> make_ascend_reader(const ReaderSettings& settings);

}  // namespace skewscope::ingest
