// One rank's part of the replay: a line of local work, from which collectives fork and which joins them again.
//
// Problem: a chain per rank (work, collective, work, ...) takes a collective that runs beside computation for one that
// stops it, and understates what a late rank costs. Idea: the line is what the GPU computes and copies. A call forks
// from it where the last row ended that was launched before the call and ended before it began: its stream waits for
// that work. It starts when its stream is free, too, and where another call that was launched before it ended just
// before it began it waited for that one; then after a delay of its own. The line joins a call where the GPU
// idled and the call ended meanwhile: the next row waited for it, or the host did. Idling that no call explains is
// local work of the rank (a slow host). Without GPU rows the host's own time is the line and calls block it. Cost: one
// sort and one pass per trace.
#pragma once

#include <vector>

#include "job_view.h"

namespace skewscope::blame {

struct Fork {
  int32_t call = -1;        // of the trace
  int32_t row = -1;         // of table.members; -1: unmatched
  int32_t before = -1;      // the fork of the call it waited for last
  LocalNs at;               // on the rank's clock
  int64_t at_ns = 0;        // on the common clock; never before the fork in front of it
  int64_t delay_ns = 0;     // from when fork and stream allow the start to the start
  int64_t work_ns = 0;      // local work on the line since the fork in front of it
  int64_t duration_ns = 0;  // of the call
};

// The line stood still from `from_ns` until the call of a fork had ended.
struct Join {
  int64_t from_ns = 0, end_ns = 0;  // end_ns: when that call ended, or before
  int32_t fork = -1;
};

struct RankLine {
  std::vector<Fork> forks;  // in the order of the line
  std::vector<Join> joins;  // by time
  int64_t first_ns = 0, last_ns = 0;
  bool blind = false;  // without GPU rows
};

// Row = trace; each made in the process that holds the trace's rows. Process 0 gets all, the others have their own.
std::vector<RankLine> rank_lines(const JobView& view, Exchange& exchange);

}  // namespace skewscope::blame
