// What is said where several jobs are found and none is chosen.
#pragma once

#include <string>
#include <vector>

#include "skewscope/ingest.h"
#include "skewscope/model/found_job.h"

namespace skewscope::cli {

// A line each: name, files, ranks, hosts, when, how long.
std::string jobs_text(const std::vector<FoundJob>& jobs);

// Lists the jobs on standard output, as JSON where `json`. False: it takes nothing.
bool print_jobs(const std::vector<FoundJob>& jobs, bool json);

}  // namespace skewscope::cli
