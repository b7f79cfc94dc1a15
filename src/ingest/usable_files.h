// Which of the files that were read are ranks, what the others are, and what each is called.
#pragma once

#include <string>
#include <vector>

#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

// Digests keep the names of their traces, as somebody gave them somewhere: "trace.json" on every node. A name that
// several files of the job claim tells nothing; each of them is then called by the path it was read from.
void tell_apart(std::vector<TraceFile>& files);

// The last finding of a file that is no rank says why, unless one does already.
void report_left_out(TraceFile& file);

// Says which files are no rank, as findings of those files, and marks the others usable. A process without GPU work and
// collectives is a front end next to ranks, but alone it is what the user asked about.
void mark_usable(std::vector<TraceFile>& files);

// "kineto json", "not a rank: merged trace", …
std::string format_of(const TraceFile& file);

}  // namespace skewscope::ingest
