// Tracers name one group differently: a profiler as its program does, another by what the library calls its
// communicator. This says which groups are one.
//
// Idea: two names are one group where no rank calls both, the sizes are equal, what is known of the members agrees, and
// they are used alike (the same operations, equal bytes on average). Believed is a pair of which each is the only one
// that the other may be: first among those that are used alike, then among those that share an operation, for windows
// of two recordings differ. Two groups of the same members and use stay apart: nothing says which is which.
// Cost: O(groups^2) of a job of several tracers.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// A group as the traces of one tracer name it.
struct TracerGroup {
  std::string tracer;         // TraceFile::format
  std::set<int64_t> members;  // known ones
  int64_t size = 0;
  std::set<int64_t> callers;            // ranks whose traces mention it
  std::map<int64_t, int64_t> position;  // of a caller inside the group, where its trace says so
  GroupUse use;                         // of all callers
};

// Row -> the first row that is the same group: itself, where none is.
std::vector<size_t> same_groups(const std::vector<TracerGroup>& groups);

}  // namespace skewscope::ingest
