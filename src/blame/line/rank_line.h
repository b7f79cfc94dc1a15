// One rank's part of the replay: a line of work on the GPU, from which collectives fork and which joins them again, and
// a line of the host, which launches both.
//
// Problem: a chain per rank (work, collective, work, ...) takes a collective that runs during computation for one that
// stops it, and understates what a late rank costs. One that takes all idling for work of the GPU believes that a short
// kernel comes sooner once the collective in front of it ends sooner; where the host is what the GPU waits for, it
// comes when it is launched. Idea: the line is what the GPU computes and copies. A call forks from it where the last
// row ended that was launched before the call and ended before it began: its stream waits for that work. It starts when
// its stream is free and it has been launched, too, and where another call that was launched before it ended just
// before it began it waited for that one; then after a delay of its own. The line joins a call where the GPU idled and
// the call ended meanwhile: the next row waited for it, or the host did. No row begins before its launch has arrived
// (host_line.h); where it had not when the line and the call were ready, the idling is the host's. Idling that neither
// explains is local work of the rank. Launches that nothing can make binding are left out: while the line comes forward
// by no more than the least spare time of the rows in front, a row launched earlier than that holds nothing up. Without
// GPU rows the host's own time is the line and calls block it. Rows launched before the recording began are the end of
// work whose beginning nobody saw: the line begins behind them, and calls among them stay where they were. Cost: one
// sort and two passes per trace.
#pragma once

#include <functional>
#include <vector>

#include "host_line.h"
#include "job_view.h"

namespace skewscope::blame {

constexpr int64_t kEventDelay_ns = 20'000;  // what it takes at most to go on behind an event

struct Fork {
  int32_t call = -1;              // of the trace
  int32_t row = -1;               // of table.members; -1: unmatched
  int32_t before = -1;            // the fork of the call it waited for last
  bool before_recording = false;  // the call began before all that was launched while it was recorded
  LocalNs at;                     // on the rank's clock
  int64_t at_ns = 0;              // on the common clock; never before the fork in front of it
  int64_t delay_ns = 0;  // from when fork and stream allow the start to the start; 0 where the launch came last
  Launch launch;
  int64_t work_ns = 0;      // local work on the line since the fork in front of it
  int64_t host_ns = 0;      // the host's own time since it launched the call before
  int64_t duration_ns = 0;  // of the call
};

// Where the line may have to be idle: idle from `from_ns` until a call had ended, or until a row was launched.
struct Stop {
  int64_t from_ns = 0;
  int64_t until_ns = 0;  // what is explained of the idling; the rest, up to `to_ns`, is local work
  int64_t to_ns = 0;     // when the row behind it began; `until_ns` where its launch is not known
  int32_t fork = -1;     // of the call that is joined; -1: none
  Launch launch;         // of the row behind it
  int64_t idle_ns = 0;   // of stops in front that are left out: idling for launches alone
};

struct RankLine {
  Column<Fork> forks;  // in the order of the line
  Column<Stop> stops;  // by time
  HostLine host;
  int64_t first_ns = 0, last_ns = 0;
  Launch first;            // of what begins at `first_ns`
  bool blind = false;      // without GPU rows
  LocalNs begin;           // on the rank's clock: of the first row that was launched while it was recorded
  int64_t latency_ns = 0;  // until a launch arrives; on the rank's clock, and only in the process that made it
};

// When the first row began that was launched while it was recorded: what ran before it is the end of what came before
// the recording. The beginning of time where no launch is known.
LocalNs first_launched(const RankTrace& trace);

// The line of one trace that is held here.
RankLine build_line(const JobView& view, TraceIndex trace);

// Row = trace; each made in the process that holds the trace's rows. Process 0 gets all, the others have their own.
// `made`: called with each where it is made, from several threads.
std::vector<RankLine> rank_lines(const JobView& view, Exchange& exchange,
                                 const std::function<void(TraceIndex, const RankLine&)>& made);

}  // namespace skewscope::blame
