// One trace of all ranks on one clock, for the Perfetto UI, next to a job's report: aligned.pftrace, and in aligned.txt
// what is in it. It is made of what the report was made of, so that no trace is read again; annotations and operators,
// for which traces would have to be, are not in it (`skewscope merge` shows them).
//
// A small job is in it as a whole; of others, windows around the report's findings and the worst waits: they cost a
// tenth of the report's time, the whole job more than half of it. It may take a quarter of what the report may have of
// the disk.
#pragma once

#include <vector>

#include "skewscope/gather.h"
#include "skewscope/merge.h"

namespace skewscope::cli {

// `findings`: of the report. What cannot be made is told in the log.
void write_aligned_trace(const ReportTask& task, const CorrelatedJob& job, std::vector<MergeWindow> findings);

}  // namespace skewscope::cli
