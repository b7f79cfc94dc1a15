// The story of one GPU: a trace in, its tables out. See src/examine.cc.
#pragma once

#include <string>
#include <vector>

#include "skewscope/advise.h"
#include "skewscope/base/result.h"
#include "skewscope/base/stage_timer.h"
#include "skewscope/efficiency/roofline.h"
#include "skewscope/ingest.h"
#include "skewscope/report.h"

namespace skewscope {

struct ExamineOptions {
  IngestOptions ingest;
  Rules rules = built_in_rules();
  efficiency::DeviceTable devices = efficiency::built_in_devices();
};

// `paths` hold one trace, or `options` name one rank of a job. Errors: usage where several are left, and those of
// ingest_job.
Result<RankReport> examine(const std::vector<std::string>& paths, const ExamineOptions& options, StageTimer& timer);

}  // namespace skewscope
