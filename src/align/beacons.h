// The ends that tie clocks: instances whose members leave together. Lateness never moves the end of one member against
// another's, so stragglers do not bias a fit on ends; late exits do, and are rarest where arrivals were balanced.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/collective_instance.h"

namespace skewscope::align {

// Observations grouped by instance: observation k of row c is [row_begin[c], row_begin[c + 1]).
struct Beacons {
  std::vector<int32_t> row_begin{0};
  std::vector<double> spread_ns;     // per row: longest - shortest duration, a measure of imbalance free of clocks
  std::vector<int32_t> scale_class;  // per row: (communicator, operation, size); classes scatter differently
  std::vector<int32_t> ordinal;      // per row: position within its communicator, for holding out every second one
  std::vector<int32_t> trace;        // per observation
  std::vector<int64_t> end_ns;       // per observation, local clock
  std::vector<int64_t> start_ns;     // per observation, local clock
  int32_t classes = 0;
  std::vector<int32_t> component;  // per trace: traces tied directly or through others share a number; -1: untied

  size_t rows() const { return spread_ns.size(); }
};

// At most 512 instances per (communicator, session): the most balanced of each of 16 time strata.
Beacons collect_beacons(const JobTrace& job, const InstanceTable& instances);

}  // namespace skewscope::align
