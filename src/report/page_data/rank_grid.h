// The place of each rank in the job's parallel layout, such as tensor x data x pipeline.
#pragma once

#include <string>
#include <vector>

#include "skewscope/model/job_report.h"

namespace skewscope::report {

struct RankGrid {
  enum class Source : uint8_t { none, groups, nodes };
  struct Axis {
    std::string name;  // what the traces call its groups; "pipeline" of stages that messages show; "node", "GPU"
    int32_t size = 0;
    std::vector<int32_t> coordinate;  // row = rank of the world
  };
  Source source = Source::none;
  std::vector<Axis> axes;  // along which rank numbers grow slowest, last; every rank has other coordinates
  bool ambiguous = false;  // the groups form a grid in several ways
};

RankGrid rank_grid(const JobReport& report);

}  // namespace skewscope::report
