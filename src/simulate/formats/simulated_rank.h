// What writers of other formats make their files of: the columns of a rank's digest, and what a digest does not keep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/model/trace_file.h"

namespace skewscope::simulate {

struct LostLaunch {
  LocalNs at;
  bool by_collective = false;
};

struct SimulatedRank {
  int32_t rank = -1;
  int32_t node = -1;
  int64_t process = -1, main_thread = -1, backward_thread = -1;
  TraceFile file;
  std::vector<int32_t> blocks;            // by GPU row: of a kernel's grid, which has one dimension; 0: no kernel
  std::vector<int64_t> waits;             // by call: from its start until the last member was there
  std::vector<LostLaunch> lost_launches;  // of kernels that have no row
};

// Correlations as a process makes its calls, in the order of time: launches, waits of streams and the records of events
// that these wait for.
struct CallNumbers {
  std::vector<int64_t> launches, records, waits;  // by row of RankTrace::launches; of stream_waits
  int64_t next = 0;                               // behind them
};
CallNumbers number_calls(const RankTrace& trace, int64_t first);

// Writes the ranks of a node into one file. False: it cannot be written.
using WriteNode = bool (*)(const std::vector<SimulatedRank>& ranks, const std::string& path);

// A format that `simulate --format` knows: nullptr for another name.
struct NodeFormat {
  const char* name;
  const char* suffix;  // of its files: ".sqlite"
  WriteNode write;
  std::string (*part)(const SimulatedRank& rank);  // what a rank is called in its file: "pid20000"
  // What the file of this rank alone is called, which begins with "node"; null: the ranks of a node share one.
  std::string (*own_file)(const TraceFile& rank, int64_t process) = nullptr;
};
const NodeFormat* node_format(const std::string& name);
// "node3.sqlite".
std::string name_of_node_file(const NodeFormat& format, int32_t node);
// Whether a file of some format may be called that.
bool is_name_of_node_file(const std::string& name);

}  // namespace skewscope::simulate
