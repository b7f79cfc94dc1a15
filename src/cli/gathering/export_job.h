// A job's report and traces fetched from its gatherer into a folder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "skewscope/ship/gatherer_client.h"

namespace skewscope::cli {

struct Exported {
  std::vector<std::string> files;  // of the folder
  std::vector<std::string> left;   // "FILE: why" of those that the gatherer does not give
};

// `job`: as GET of the job tells it. `directory` must not be there, or be empty; each file is whole or not there.
// Traces, where they are wanted, lie in traces/c0000 and so on, a folder per capture. Errors: output, no_input.
Result<Exported> export_job(GathererClient& client, const nlohmann::json& job, const std::string& directory,
                            bool traces);

}  // namespace skewscope::cli
