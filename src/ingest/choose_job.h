// Which of the jobs found is reported.
#pragma once

#include <string>
#include <vector>

#include "find_jobs.h"
#include "skewscope/base/result.h"

namespace skewscope::ingest {

// The job called `name` where it is given and there are several; else the only one, else the whole one that left the
// others' files over: see left_over. Errors: no_input where nothing says which, usage where none has the name.
Result<size_t> choose_job(const std::vector<TraceFile>& files, const std::vector<JobFiles>& jobs,
                          const std::string& name);

// What a larger run left that `whole`, which came later, did not overwrite: in its folders, under names as its own,
// none of its ranks.
bool left_over(const std::vector<TraceFile>& files, const JobFiles& whole, const JobFiles& other);

// Of a job that is not reported, beside one that is.
Finding not_reported(const JobFiles& reported, const JobFiles& other, bool is_left_over);

// Of a copy, which is left out.
Finding copy_left_out(const TraceFile& copy, const TraceFile& original);

}  // namespace skewscope::ingest
