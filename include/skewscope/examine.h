// The story of one GPU: a trace in, its tables out. See src/examine.cc.
#pragma once

#include <string>
#include <vector>

#include "skewscope/base/result.h"
#include "skewscope/base/stage_timer.h"
#include "skewscope/ingest.h"
#include "skewscope/report.h"

namespace skewscope {

// `paths` hold one trace, or `options` name one rank of a job. Errors: usage where several are left, and those of
// ingest_job.
Result<RankReport> examine(const std::vector<std::string>& paths, const IngestOptions& options, StageTimer& timer);

}  // namespace skewscope
