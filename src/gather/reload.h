// What SIGHUP changes: the options of before next to those of after.
#pragma once

#include <map>
#include <string>

#include "skewscope/gather.h"
#include "skewscope/protocol/sha256.h"

namespace skewscope::gather {

// Each as "flag BEFORE -> AFTER", separated by ", "; "" for none.
struct Reload {
  std::string taken;     // from now on
  std::string at_start;  // a restart takes them
  std::string refused;   // where it listens was judged together with whom it lets in: nothing is taken
};
Reload reload_of(const GatherOptions& before, const GatherOptions& after);

// What is in the files that options name: keys and certificates.
struct NamedFile {
  std::string path;
  Digest content{};
};
using NamedFiles = std::map<std::string, NamedFile>;  // by flag
NamedFiles secrets_of(const GatherOptions& options);
// Each that was exchanged under the same name, as "flag PATH: other content".
std::string exchanged(const NamedFiles& before, const NamedFiles& after);

}  // namespace skewscope::gather
