// Data: all that was read of a job. Immutable once loaded.
// Where several processes read it, each has the same JobTrace but for the rows and calls of the traces that others
// hold.
#pragma once

#include <string>
#include <vector>

#include "skewscope/base/exchange.h"
#include "skewscope/base/finding.h"
#include "skewscope/base/string_table.h"
#include "skewscope/model/communicator_table.h"
#include "skewscope/model/found_job.h"
#include "skewscope/model/rank_trace.h"

namespace skewscope {

// Who says how many ranks the job has.
enum class WorldSizeSource : uint8_t {
  nobody,
  distributed_info,
  default_group,  // the size of default_pg
  file_name,
  largest_group,  // a lower bound
  user,           // --world-size
  file_count,     // nothing tells: as many as there are files
};
// "distributedInfo", "number of files", ...
const char* to_string(WorldSizeSource source);

struct JobTrace {
  std::string name;  // PT_PROFILER_JOB_NAME where present, else the folder's name
  int32_t world_size = 0;
  WorldSizeSource world_size_source = WorldSizeSource::nobody;
  int32_t sessions = 1;  // captures; traces carry their session
  JobVendor vendor = JobVendor::unknown;
  std::vector<RankTrace> traces;  // sorted by (session, rank); at most one per (session, rank)
  CommunicatorTable communicators;
  StringTable strings;
  std::vector<std::string> modules;  // parts of the model that calls are of, by name; kMostModules at most
  std::vector<FoundJob> jobs_found;  // this one and those that lay next to it, by time
  Findings findings;                 // sorted
  int64_t bytes_read = 0;            // uncompressed text
  int64_t events_read = 0;           // trace events seen, of any kind
  int32_t process = 0;               // this one

  const RankTrace& operator[](TraceIndex i) const { return traces[i.index()]; }
  // Whether the rows and calls of the trace are in this process.
  bool holds(TraceIndex i) const { return traces[i.index()].process == process; }
};

// Process 0 learns the calls of all traces.
void gather_calls(JobTrace& job, Exchange& exchange);

std::string check_invariants(const JobTrace& job);

}  // namespace skewscope
