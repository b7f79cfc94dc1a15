#pragma once

#include <vector>

#include "skewscope/model/hang_report.h"
#include "src/hang/stall/group_table.h"
#include "src/hang/stall/lateness.h"
#include "src/hang/stall/mismatches.h"
#include "src/hang/stall/wait_graph.h"

namespace skewscope::hang {

struct Evidence {
  const GroupTable& table;
  const std::vector<Mismatch>& mismatches;
  const WaitGraph& graph;
  const std::vector<Lateness>& lateness;
};

// Each rank at most once, worst first.
std::vector<Culprit> find_culprits(const Evidence& evidence);

}  // namespace skewscope::hang
