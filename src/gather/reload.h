// What SIGHUP changes: options of before beside those of after.
#pragma once

#include <string>

#include "skewscope/gather.h"

namespace skewscope::gather {

// Each as "flag BEFORE -> AFTER", separated by ", "; "" for none.
struct Reload {
  std::string taken;     // from now on
  std::string at_start;  // a restart takes them
  std::string refused;   // where it listens was judged together with whom it lets in: nothing is taken
};
Reload reload_of(const GatherOptions& before, const GatherOptions& after);

}  // namespace skewscope::gather
