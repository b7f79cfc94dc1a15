// The line of a rank's host: when it launches what the GPU runs, and when it waits for the GPU.
//
// Problem: a job whose kernels are short is as fast as its hosts, and a network that takes no time makes it no faster;
// but hosts wait for their GPUs as well (a loss is read, a step ends, a queue is full), and come sooner when these do.
// Where the trace holds synchronizing calls between launches, those are the waits: of what had been launched, a call
// waited for what ended last before it returned; from then on the time is the host's own. Next to them the host waited
// where the call that launched a copy returned behind its end, and where the launch call itself differs clearly while
// the GPU had work (the queue was full): until it returned.
//
// Tracers may leave synchronizing calls out. Where none lies between launches, the host launches at its own speed, and
// between two launches it waited for the GPU where the columns leave no better reading:
//   the GPU had nothing left    a copy was launched last and had ended when the next launch came (a result is read), or
//                               the pause differs clearly from the host's speed (a synchronization): until all had
//                               ended, of the calls the one that ended last;
//   only calls were left        the same, until the line had come to the end of its work;
//   the GPU had work            the launch call itself differs clearly.
// A collective that ran on the host next to GPU rows (gloo, MPI) is a launch that lasts as long as itself: the host
// waited for what the GPU had been given before it, as it reads what that leaves; and for its end, where it launched
// nothing until then. All other time is the host's own. Where a host that stalled by itself is taken for one that
// waited, the error is at most what the GPU still had to do. Cost: one pass over the launches in order; with
// synchronizing calls a sort by end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "job_view.h"
#include "skewscope/base/column.h"

namespace skewscope::blame {

// When a row or a call was launched, on the common clock.
struct Launch {
  int64_t ns = 0;
  int64_t delay_ns = -1;  // from there to the start at the earliest; -1: the launch is not known
  bool known() const { return delay_ns >= 0; }
};

// A row and its launch; local clock.
struct LaunchedRow {
  int64_t launch_ns, returned_ns;  // the host's call
  int64_t end_ns;
  GpuWork work;
  bool on_host = false;  // a collective of the host, as long as its "launch"
};
// By launch; without orphans and rows that take no time; with the calls that ran on the host next to them.
std::vector<LaunchedRow> launched_rows(const RankTrace& trace);

// When the host had launched a call; INT64_MIN: the trace does not tell. A call of the host needs no launch.
int64_t launched_ns(const CollectiveCall& call);

struct CallEnd {
  int64_t ns;
  int32_t fork;
};

// The host stood still from `from_ns` until the line had come to `line_ns` and the call of a fork had ended.
struct HostWait {
  int64_t from_ns = 0, until_ns = 0;
  int64_t line_ns = 0;  // never before that of the wait in front
  int32_t fork = -1;    // -1: no call
};

// The longest stretch of the host's own time ahead of the launch of a call, between launches and waits.
struct HostPause {
  int64_t begin_ns = 0, length_ns = 0;
};

struct HostLine {
  int64_t first_ns = 0;        // where its own time begins: its first step, else its first launch
  std::vector<int32_t> forks;  // of calls with a known launch, in launch order
  Column<HostPause> pauses;    // row = row of `forks`
  Column<HostWait> waits;      // by time
};

// When the line is through with what was launched so far, and the GPU.
struct HostEnds {
  int64_t line_ns = INT64_MIN, all_ns = INT64_MIN;

  void add(int64_t end_ns, GpuWork work) {
    all_ns = std::max(all_ns, end_ns);
    if (work != GpuWork::communication) line_ns = std::max(line_ns, end_ns);
  }
};

// How long a host's pause between two launches must be to differ clearly among all of them; those of no length do not
// count.
int64_t long_pause_among(std::vector<int64_t> pauses_ns);

// `synchronizing`: by start. `ends`: of the calls, by time. `before`: of what was launched before the recording. On the
// rank's own clock.
Column<HostWait> host_waits(const std::vector<LaunchedRow>& rows, const Column<SynchronizingCall>& synchronizing,
                            const std::vector<CallEnd>& ends, const HostEnds& before);

}  // namespace skewscope::blame
