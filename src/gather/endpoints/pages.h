// The pages of the daemon: jobs and their progress, one job, signing in. They run no script, and text from outside
// stands in them escaped.
#pragma once

#include <string>
#include <vector>

#include "src/gather/http/response.h"
#include "src/gather/kept/store.h"

namespace skewscope::gather {

std::string escaped(std::string_view text);  // for HTML text and quoted attributes

Response jobs_page(const std::vector<JobState>& jobs, bool more, bool signed_in);
// `report_log`: the last lines of it, where the newest report has failed.
Response job_page(const JobState& job, const std::string& report_log);
Response login_page(bool refused);
Response page_not_found();

}  // namespace skewscope::gather
