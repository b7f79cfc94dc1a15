// Streams and devices, each a walk over its own rows in the order of their starts. What a row waited for is known from
// its launch: a host call that began after the stream had run dry is the host's delay; one that ended in the gap before
// the row let the device run dry.
#include "streams.h"

#include <algorithm>
#include <map>

#include "queues.h"
#include "spread.h"

namespace skewscope::summarize {
namespace {

using RowList = std::vector<size_t>;

LocalNs row_end(const GpuEvents& gpu, size_t row) { return gpu.start[row] + gpu.duration_ns[row]; }

struct Gaps {
  std::vector<double> each;
  int64_t total_ns = 0;

  void add(int64_t gap_ns) {
    each.push_back(static_cast<double>(gap_ns));
    total_ns += gap_ns;
  }
  IdleGaps described() { return {total_ns, distribution_of(each)}; }
};

StreamIdle idle_of(const RankTrace& trace, const RowList& rows) {
  const GpuEvents& gpu = trace.gpu;
  StreamIdle idle;
  idle.device = gpu.device[rows.front()];
  idle.stream = gpu.stream[rows.front()];
  idle.gpu_rows = static_cast<int64_t>(rows.size());
  LocalNs last_end = gpu.start[rows.front()];
  Gaps host, kernel, other;
  for (const size_t row : rows) {
    const int64_t gap_ns = gpu.start[row] - last_end;
    if (gap_ns > 0) {
      const int32_t launch = gpu.launch[row];
      const bool unlaunched = launch >= 0 && trace.launches.start[static_cast<size_t>(launch)] > last_end;
      (unlaunched ? host : gap_ns < kKernelWaitNs ? kernel : other).add(gap_ns);
    }
    idle.busy_ns += std::max<int64_t>(0, row_end(gpu, row) - std::max(last_end, gpu.start[row]));
    last_end = std::max(last_end, row_end(gpu, row));
  }
  idle.host_wait = host.described();
  idle.kernel_wait = kernel.described();
  idle.other = other.described();
  return idle;
}

// A run of rows that each waited for their launch.
struct Stretch {
  LocalNs start;
  int64_t rows = 0, time_ns = 0;
};

// `rows`: of one device, in the order of their starts.
LaunchBound launch_bound_of(const RankTrace& trace, const RowList& rows) {
  const GpuEvents& gpu = trace.gpu;
  LaunchBound bound;
  bound.device = gpu.device[rows.front()];
  LocalNs last_end = gpu.start[rows.front()];
  Stretch run;
  const auto close = [&] {
    if (run.rows >= 2) {
      ++bound.stretches;
      if (run.time_ns > bound.longest_ns) {
        bound.longest_rows = run.rows;
        bound.longest_ns = run.time_ns;
        bound.longest_start = run.start;
      }
    }
    run = {};
  };
  for (const size_t row : rows) {
    const int32_t launch = gpu.launch[row];
    const LocalNs start = gpu.start[row];
    bool waited = false;
    if (launch >= 0 && start > last_end) {
      const auto call = static_cast<size_t>(launch);
      const LocalNs launched = trace.launches.start[call] + trace.launches.duration_ns[call];
      waited = launched > last_end && launched <= start;
      if (launched <= last_end && start - last_end >= kKernelWaitNs) {
        ++bound.queued_gaps;
        bound.queued_idle_ns += start - last_end;
      }
    }
    if (waited) {
      ++bound.rows;
      bound.idle_ns += start - last_end;
      if (run.rows == 0) run.start = last_end;
      ++run.rows;
      run.time_ns = row_end(gpu, row) - run.start;
    } else {
      close();
    }
    last_end = std::max(last_end, row_end(gpu, row));
  }
  close();
  return bound;
}

}  // namespace

void add_streams(const RankTrace& trace, RankTables& tables) {
  std::map<std::pair<int32_t, int32_t>, RowList> streams;
  for (size_t i = 0; i < trace.gpu.size(); ++i) streams[{trace.gpu.device[i], trace.gpu.stream[i]}].push_back(i);
  for (const auto& [stream, rows] : streams) {
    tables.streams.push_back(idle_of(trace, rows));
    add_queue(trace, rows, tables);
  }
}

std::vector<LaunchBound> launch_bound(const RankTrace& trace) {
  std::map<int32_t, RowList> devices;
  for (size_t i = 0; i < trace.gpu.size(); ++i) devices[trace.gpu.device[i]].push_back(i);
  std::vector<LaunchBound> bound;
  for (const auto& [device, rows] : devices) bound.push_back(launch_bound_of(trace, rows));
  return bound;
}

}  // namespace skewscope::summarize
