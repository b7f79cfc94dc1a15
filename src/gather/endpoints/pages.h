// The pages of the daemon: jobs and their progress, one job, signing in. They run no script, and text from outside
// is escaped in them.
#pragma once

#include <string>
#include <vector>

#include "src/gather/history/history.h"
#include "src/gather/http/response.h"
#include "src/gather/kept/store.h"
#include "straggler_figures.h"

namespace skewscope::gather {

std::string escaped(std::string_view text);  // for HTML text and quoted attributes

// A job with what its newest report says first; "": there is none.
struct ShownJob {
  JobState state;
  std::string verdict;
  std::string hang = "";  // the same of its dumps
};

// `nodes`: that were the cause in several jobs of late; said before all else.
Response jobs_page(const std::vector<ShownJob>& jobs, const std::vector<NodeRecord>& nodes, bool more, bool signed_in);
Response nodes_page(const std::vector<NodeRecord>& nodes);
// `report_log`: the last lines of it, where the newest report has failed.
Response job_page(const ShownJob& job, const Straggler& straggler, const std::string& report_log);
Response login_page(bool refused);
Response page_not_found();

}  // namespace skewscope::gather
