// Fuzz targets of formats report what is at a path, and read its first rank as `rank` does. The stages assert the
// invariants of their rooms.
#pragma once

#include <string>

#include "require.h"
#include "skewscope/correlate.h"
#include "skewscope/examine.h"
#include "skewscope/report.h"

namespace skewscope::test {

inline void read_in_full(const std::string& path) {
  StageTimer timer;
  CorrelateOptions options;
  options.ingest.memory_limit_bytes = int64_t{1} << 28;
  const auto report = correlate({path}, options, timer);
  require(report.ok() || report.error().kind != ErrorKind::internal);
  if (report.ok()) to_json(report.value(), {});
  ExamineOptions one;
  one.ingest.ranks = {0};
  const auto examined = examine({path}, one, timer);
  require(examined.ok() || examined.error().kind != ErrorKind::internal);
}

}  // namespace skewscope::test
