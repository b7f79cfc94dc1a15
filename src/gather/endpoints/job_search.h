// Which jobs the cluster's page shows: those that the caller may read and that its query asks for, the newest first, a
// page at a time.
//
// What a job is (name, owner, state, creation, registered nodes) the store knows in memory; what its report said
// (verdict, nodes, loss) the history is asked for once for all jobs. Only the jobs of the page are looked at closely.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "handlers.h"
#include "src/gather/history/history.h"
#include "user_names.h"

namespace skewscope::gather {

constexpr size_t kJobsOnPage = 100;

// As in the query, less `page`; a key that is absent asks for nothing.
using JobSearch = std::map<std::string, std::string>;

struct FoundJobs {
  std::vector<JobState> jobs;  // of the page
  size_t found = 0, all = 0;   // on every page; that the caller may read
  size_t page = 1, pages = 1;
};

// `page`: one behind the last is the last. `users`: who knows the names of owners.
FoundJobs find_jobs(const Store& store, const History& history, const UserNames& users, const Call& call,
                    const JobSearch& search, size_t page);

}  // namespace skewscope::gather
