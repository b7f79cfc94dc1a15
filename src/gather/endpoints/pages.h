// The pages of the daemon: jobs and their progress, one job, signing in. They run no script but live_update's, and text
// from outside is escaped in them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "captures_section.h"
#include "job_search.h"
#include "page_parts.h"
#include "src/gather/history/history.h"
#include "src/gather/http/response.h"
#include "src/gather/kept/store.h"
#include "straggler_figures.h"

namespace skewscope::gather {

// A row of the list.
struct ListedJob {
  ShownJob job;
  std::string owner;                     // name of the user; "": not known
  std::optional<ReportOutcome> outcome;  // of the newest report
};

struct JobsPage {
  std::vector<NodeRecord> nodes;  // that were the cause in several jobs of late; said before all else
  std::vector<ListedJob> jobs;
  JobSearch search;
  size_t found = 0, all = 0, page = 1, pages = 1;  // as in FoundJobs
  std::string whose;  // jobs these are: the user's, who sees no others; "": not of one user alone
  bool signed_in = false;
};
Response jobs_page(const JobsPage& shown);  // jobs_page.cc
Response nodes_page(const std::vector<NodeRecord>& nodes);

struct JobPage {
  ShownJob job;
  Straggler straggler;
  std::string report_log;                // the last lines of it, where the newest report has failed
  std::vector<Store::ReportFile> files;  // of the newest report
  std::string series;
  std::vector<Run> runs;  // of the series, the newest first
  std::vector<ReportedCapture> captures = {};
  std::string aligned_trace = "";              // what is in it; "": there is none
  std::vector<std::string> runs_of_name = {};  // jobs, the first one first
};
Response job_page(const JobPage& shown);
Response login_page(bool refused);
Response page_not_found();
// Why the proxy's user is not let in.
Response refusal_page(int status, const std::string& why, const std::string& user);

}  // namespace skewscope::gather
