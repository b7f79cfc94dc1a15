// Files between processes: which process reads which, and what all need to know of a file that another has read.
//
// Processes may see the same files (a shared folder), each its own (disks of the nodes), or some of both. A file is the
// same for two processes when path, size, inode and time of the last change are: then one of those that see it reads
// it, the one with the fewest bytes so far; the largest files are given away first. What is told of a file that was
// read is all but its rows and calls: a few kilobytes, as a digest.
#pragma once

#include <string>
#include <vector>

#include "skewscope/base/exchange.h"
#include "skewscope/base/result.h"
#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// Those of `found` that this process is to read.
std::vector<std::string> own_share(const std::vector<std::string>& found, Exchange& exchange);

// The files of all processes, by path. Those of others lack their calls, and their GPU rows but for the first of each
// name.
Result<std::vector<TraceFile>> gather_files(std::vector<TraceFile> own, Exchange& exchange);

}  // namespace skewscope::ingest
