// The gatherer's documents in words and tables.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace skewscope::cli {

// The field, "" where it is no text.
std::string field_text(const nlohmann::json& object, const char* key);

// The newest run of the job's name; of one that was not used again, the job.
std::string newest_run(const nlohmann::json& job);
// A table as wide as `columns`; the last column takes what is left.
std::string jobs_table(const nlohmann::json& jobs, size_t columns);
// "receiving: 3 of 8 ranks, missing 3-7; report waiting"
std::string state_line(const nlohmann::json& job);
// "run1: complete: 8 of 8 ranks; report complete. VERDICT"
std::string one_line(const nlohmann::json& job);
// `base`: http(s)://HOST:PORT, for links. `columns`: of its table of captures.
std::string job_text(const nlohmann::json& job, const std::string& base, size_t columns);
std::string nodes_text(const nlohmann::json& nodes, size_t columns);
std::string history_table(const nlohmann::json& runs, size_t columns);

}  // namespace skewscope::cli
