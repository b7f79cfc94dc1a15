// Which of the jobs found is reported.
#pragma once

#include <string>
#include <vector>

#include "find_jobs.h"
#include "skewscope/base/result.h"

namespace skewscope::ingest {

// The job called `name` where it is given and there are several; else the only one, else the newest whole one where all
// others lie in its folders and are not whole or earlier runs of the same script. Errors: no_input where nothing says
// which, usage where none has the name.
Result<size_t> choose_job(const std::vector<TraceFile>& files, const std::vector<JobFiles>& jobs,
                          const std::string& name);

// What a larger run left that `whole`, which came later, did not overwrite: in its folders, under names as its own,
// none of its ranks.
bool left_over(const std::vector<TraceFile>& files, const JobFiles& whole, const JobFiles& other);

// Says what another job is than the one that is reported, and the command that reports on it.
Finding not_reported(const std::vector<TraceFile>& files, const JobFiles& reported, const JobFiles& other);

// What a shell takes to report on a job of those that lie in a folder.
std::string command_for(const std::string& folder, const FoundJob& job);

// The deepest that holds them all, as the user gave it; "": the working directory.
std::string folder_of_all(const std::vector<TraceFile>& files);

// Says that a copy is left out, and what it is a copy of.
Finding copy_left_out(const TraceFile& copy, const TraceFile& original);

}  // namespace skewscope::ingest
