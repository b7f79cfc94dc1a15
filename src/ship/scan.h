// Which files there are to send at this moment.
#pragma once

#include <optional>
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

// What discover_files() finds, and dumps whose path begins with `dumps`, but symbolic links, what is no regular file,
// other users' files, and what lies below `state_directory`.
Scan scan(const std::vector<std::string>& paths, const std::string& state_directory, const std::string& dumps = "");

// Those of `paths` that are folders, and the folders of the others; of a pattern, the one in front of its first
// wildcard.
std::vector<std::string> folders_of(const std::vector<std::string>& paths);

// Dumps of flight recorders have the path that PyTorch was given, and the rank behind it, without a suffix.
// nullopt: it is none that begins with `prefix`; "" begins none.
std::optional<int> rank_of_dump(const std::string& path, const std::string& prefix);
std::vector<std::string> dumps_of(const std::string& prefix);
std::string folder_of_dumps(const std::string& prefix);
// "": it ends as a pickle or a JSON object does.
std::string why_no_whole_dump(int descriptor);
// Under which capture the gatherer keeps it: the minute since 1970 in which it was written.
int minute_of(const FileStamp& stamp);

}  // namespace skewscope::ship
