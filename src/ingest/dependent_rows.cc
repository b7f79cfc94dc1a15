// Problem: with programmatic dependent launch the next kernel of a stream becomes resident while the one before it
// runs, and waits (griddepcontrol.wait) until that has ended; the tracer's row covers the waiting. A GEMM behind a
// collective that waits for a late rank then looks as if it computed all the while: waiting is hidden behind "work",
// and the GPU never idles. Kernels of a graph on one stream, and of one queue of an AMD GPU, overlap alike. Idea: a
// stream runs its kernels in order, so where two rows overlap the later one does its work behind the end of the
// earlier. What a kernel does before it waits is a prologue of a few loads.
// Why right: the union of the rows stays as it is, and so do all ends, by which collectives are matched and clocks
// tied; a collective that is resident has not arrived before it may begin. A row that ends within the one before it
// cannot have waited for it (branches of a graph that share a stream's number) and stays. Copies are not launched
// dependently. Stamps of whole microseconds overlap by rounding: by no more than one. Cost: one pass over the rows.
#include "dependent_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace skewscope::ingest {
namespace {

bool is_kernel(GpuWork work) { return work == GpuWork::compute || work == GpuWork::communication; }

// Until when kernels of a stream have run, so far.
struct StreamEnd {
  int32_t device, stream;
  LocalNs end;
};

// Streams are few.
StreamEnd& end_of(std::vector<StreamEnd>& ends, int32_t device, int32_t stream) {
  for (StreamEnd& end : ends) {
    if (end.stream == stream && end.device == device) return end;
  }
  return ends.emplace_back(StreamEnd{device, stream, LocalNs{INT64_MIN}});
}

}  // namespace

bool begin_behind_predecessors(FileContent& content) {
  GpuEvents& gpu = content.gpu.events;
  const int64_t rounding_ns = content.resolution_ns > 1 ? content.resolution_ns : 0;
  std::vector<StreamEnd> ends;
  StreamEnd* last = nullptr;  // one stream has many rows in turn
  std::map<StringId, int64_t> waited;
  int64_t count = 0;
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (!is_kernel(gpu.work[i])) continue;
    const bool known = last != nullptr && last->stream == gpu.stream[i] && last->device == gpu.device[i];
    if (!known) last = &end_of(ends, gpu.device[i], gpu.stream[i]);
    LocalNs& free = last->end;
    const LocalNs end = gpu.start[i] + gpu.duration_ns[i];
    if (free.ns > gpu.start[i].ns + rounding_ns && end > free) {
      const int64_t wait_ns = free - gpu.start[i];
      if (gpu.work[i] == GpuWork::compute) waited[gpu.name[i]] += wait_ns;
      gpu.start[i] = free;
      gpu.duration_ns[i] -= wait_ns;
      ++count;
    }
    free = std::max(free, end);
  }
  if (count == 0) return false;
  for (const auto& [name, ns] : waited) content.kernel_grids.add_time(name, -ns);
  add_finding(content.findings,
              {Severity::info, "waiting-kernels", content.file, Rank(), -1, count,
               fmt::format("{} of {} GPU rows are kernels that were resident while the one before them on their stream "
                           "still ran (dependent launches, graphs); each counts from where that one ends",
                           count, gpu.size())});
  return true;
}

}  // namespace skewscope::ingest
