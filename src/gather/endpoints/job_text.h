// A job's state in words and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "captures_section.h"
#include "src/gather/kept/store.h"

namespace skewscope::gather {

const char* name_of(ReportState state);
// receiving; complete: every rank of every capture is there; ended: no more come, and some are missing.
const char* state_of(const JobState& job);

// job, state, arrived, dumps, expected, missing_ranks, missing ([{capture, ranks}, ...]), captures, bytes,
// open_uploads, ended, conflict, report_state, generation (of the newest report that can be read; 0: none),
// report_exit_code, epoch, created; verdict and capture_reports, where they are given; runs, all of its name, where
// these are several. What there is to say of a job's report besides its state, a sentence each.
std::vector<std::string> report_notes(const JobState& job);

std::string job_json(const JobState& job, const std::string& verdict = "",
                     const std::vector<ReportedCapture>& captures = {}, const std::vector<std::string>& runs = {});
// {"jobs": [...], "next": name to go on after, absent at the end}
std::string job_list_json(const std::vector<JobState>& jobs, const std::string& next);
// {"jobs": [...], "found": on all pages, "pages": how many there are}; `verdicts`: of each job, "": none.
std::string found_jobs_json(const std::vector<JobState>& jobs, const std::vector<std::string>& verdicts, size_t found,
                            size_t pages);

// What PUT of a job may say: world_size, captures, deadline_s, retention_s; null is as good as nothing. The registry's
// socket takes owner_uid and nodes, too.
struct ParsedSettings {
  JobSettings settings;
  const char* problem = nullptr;
};
ParsedSettings parse_job_settings(const std::string& json, bool registry);

}  // namespace skewscope::gather
