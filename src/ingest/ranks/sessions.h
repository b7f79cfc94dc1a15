// Several captures of one job: which files of different ranks were recorded together, and which are the same capture
// twice.
#pragma once

#include <string>
#include <vector>

#include "skewscope/base/finding.h"
#include "skewscope/base/ids.h"
#include "skewscope/base/time.h"

namespace skewscope::ingest {

struct Capture {
  std::string file;
  Rank rank;
  std::string label;    // FileNameFacts::capture; empty: the name tells none
  int64_t number = -1;  // orders labels
  LocalNs first_event, last_event;
  int64_t calls = 0;  // collective calls
};

struct AssignedSessions {
  std::vector<SessionId> of_capture;  // row = row of `captures`; none: a duplicate, left out
  int32_t sessions = 0;
  Findings findings;
};

// Captures with the same label belong together. Within a label, captures of one rank that overlap in time are
// duplicates: the one with more calls stays (first name on a tie). The others follow each other; the k-th of one rank
// belongs to those of other ranks that overlap it in time, where that is unambiguous, else to their k-th.
// A capture far in time from all others of its session is a finding: it may be of another run.
// Sessions are numbered by (label number, label, time). `captures` in the order of file names.
AssignedSessions assign_sessions(const std::vector<Capture>& captures);

}  // namespace skewscope::ingest
