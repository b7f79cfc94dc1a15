// The first pass: of every instance, who waited how long, from the spans of its members, and what that rests on.
// Processes share the instances in blocks of equally many members, and tell each other what they found.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/base/exchange.h"
#include "skewscope/model/clock_model.h"
#include "skewscope/model/decomposition.h"

namespace skewscope::attribute {

struct InstanceWaits {
  std::vector<InstanceTiming> instances;
  std::vector<int64_t> wait_ns, caused_ns;  // per row of table.members
  std::vector<uint32_t> instance_of_row;    // per row of table.members
};

InstanceWaits split_instances(const InstanceTable& table, const ClockModel& clocks, Exchange& exchange);

}  // namespace skewscope::attribute
