// Which files there are to send at this moment.
#pragma once

#include <string>
#include <vector>

#include "deliver.h"
#include "skewscope/base/result.h"

namespace skewscope::ship {

struct Refusal {
  std::string path, reason;
};

struct Scan {
  std::vector<Candidate> files;
  std::vector<Refusal> refused;       // of those named by the user: symbolic links, other users' files
  std::vector<std::string> unlisted;  // folders, with the reason: what lies there is not known
  std::vector<std::string> foreign;   // traces of other users within the folders
  std::vector<std::string> empty;     // of the paths given, those without a trace, with the reason
  std::vector<std::string> linked;    // symbolic links there that are named like traces
};

// What discover_files() finds, but symbolic links, what is no regular file, other users' files, and what lies below
// `state_directory`.
Scan scan(const std::vector<std::string>& paths, const std::string& state_directory);

// Those of `paths` that are folders, and the folders of the others; of a pattern, the one in front of its first
// wildcard.
std::vector<std::string> folders_of(const std::vector<std::string>& paths);

}  // namespace skewscope::ship
