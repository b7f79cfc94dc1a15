// The ends that tie clocks: instances whose members leave together. Lateness never moves the end of one member against
// another's, so stragglers do not bias a fit on ends; late exits and latency waves do, and are rarest where arrivals
// were balanced.
#pragma once

#include <cstdint>
#include <vector>

#include "skewscope/model/collective_instance.h"

namespace skewscope::align {

constexpr int64_t kUnknownStart = INT64_MIN;

// The beacons of one component: traces joined, directly or through others. Observation k of row c is
// [row_begin[c], row_begin[c + 1]). Traces are numbered within the component, the smallest is 0.
struct Beacons {
  std::vector<int32_t> traces;  // per number: the job's TraceIndex; ascending

  std::vector<int32_t> row_begin{0};
  std::vector<double> spread_ns;     // per row: longest - shortest duration, a measure of imbalance free of clocks
  std::vector<int32_t> scale_class;  // per row: (group, operation, size); classes scatter differently
  std::vector<int32_t> trace;        // per observation
  std::vector<int64_t> end_ns;       // per observation, local clock
  std::vector<int64_t> start_ns;     // per observation, local clock; kUnknownStart: nothing tells

  // A group is one communicator in one session, or one link of two ranks that send to each other.
  struct Group {
    SessionId session;
    CommunicatorId communicator;
    int32_t kind = 0;  // groups of equal size and role are of one kind: TP, DP, …
    bool pair = false;
    double hop_ns = 0;  // of transfers between two: by how much ends may differ for being sent, not for clocks
  };
  std::vector<Group> groups;

  struct Class {
    int32_t group = 0;
    int32_t ordinal = 0;  // within its group
    CollectiveKind kind = CollectiveKind::unknown;
    int64_t bytes = 0;
  };
  std::vector<Class> classes;
  int32_t kinds = 0;

  // Per trace, over all its instances: first and last end that could tie it, local clock.
  std::vector<int64_t> first_end_ns, last_end_ns;

  size_t rows() const { return spread_ns.size(); }
  size_t begin(size_t row) const { return static_cast<size_t>(row_begin[row]); }
  size_t end(size_t row) const { return static_cast<size_t>(row_begin[row + 1]); }
  int32_t group_of(size_t row) const { return classes[static_cast<size_t>(scale_class[row])].group; }
  int32_t kind_of(size_t row) const { return groups[static_cast<size_t>(group_of(row))].kind; }
};

// Per component, by smallest trace. At most 256 instances per group: the most balanced of each of 16 time strata.
// Traces without a partner are in none.
std::vector<Beacons> collect_beacons(const JobTrace& job, const InstanceTable& instances);

}  // namespace skewscope::align
