// Which files were recorded together, and which apart.
#pragma once

#include <map>
#include <vector>

#include "divisions.h"
#include "job_clues.h"

namespace skewscope::ingest {

// Clocks of one job's hosts differ by seconds; five minutes, which Kerberos takes for no clock's error, are another
// run.
constexpr int64_t kApart_ns = 300'000'000'000;

// `clues`, in all of these: row = row of files.
void sort_by_time(const std::vector<JobClues>& clues, Rows& rows);

// Row -> number of its cluster by time; what is more than the gap behind all before it begins another.
std::map<size_t, size_t> clusters_of(const std::vector<JobClues>& clues, Rows rows, int64_t gap_ns);

// How far apart two runs are that left these: ranks of one job run one program, or are recorded at one time.
int64_t gap_between_runs(const std::vector<JobClues>& clues, const Rows& rows);

// Whether two clusters without a common rank, the one recorded before the other, may be of one job.
bool may_be_one(const std::vector<JobClues>& clues, const Rows& earlier, const Rows& later);

}  // namespace skewscope::ingest
