// The pages of the daemon: jobs and their progress, one job, signing in. They run no script, and text from outside
// is escaped in them.
#pragma once

#include <string>
#include <vector>

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

Response jobs_page(const std::vector<ShownJob>& jobs, bool more, bool signed_in);
// `report_log`: the last lines of it, where the newest report has failed.
Response job_page(const ShownJob& job, const Straggler& straggler, const std::string& report_log);
Response login_page(bool refused);
Response page_not_found();

}  // namespace skewscope::gather
