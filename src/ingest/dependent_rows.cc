// Problem: with programmatic dependent launch the next kernel of a stream becomes resident while the one before it
// runs, and waits (griddepcontrol.wait) until that has ended; the tracer's row covers the waiting. A GEMM behind a
// collective that waits for a late rank then looks as if it computed all the while: waiting is hidden behind "work",
// and the GPU never idles. Kernels of a graph on one stream, and of one queue of an AMD GPU, overlap alike. Idea: a
// stream runs its kernels in order, so where two rows overlap the later one does its work behind the end of the
// earlier. What a kernel does before it waits is a prologue: barriers, descriptors, weights that it fetches ahead. Of
// two computing kernels that overlap by a few microseconds that is all there is, and both keep their rows;
// communication computes nothing meanwhile, however short. Why right: the union of the rows stays as it is, and so do
// all ends, by which collectives are matched and clocks tied; a collective that is resident has not arrived before it
// may begin. A row that ends within the one before it cannot have waited for it (branches of a graph that share a
// stream's number) and stays. Copies are not launched dependently. Stamps of whole microseconds overlap by rounding: by
// no more than one. Cost: one pass over the rows.
#include "dependent_rows.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <unordered_map>

namespace skewscope::ingest {
namespace {

constexpr int64_t kPrologue_ns = 5000;

bool is_kernel(GpuWork work) { return work == GpuWork::compute || work == GpuWork::communication; }

// Until when kernels of a stream have run, so far.
struct StreamEnd {
  int32_t device = -1, stream = -1;
  LocalNs end{INT64_MIN};
  GpuWork work = GpuWork::compute;  // of the kernel that ended then
};

// By stream. The few that are looked for first are found without a hash; a damaged trace may have one for each row.
class StreamEnds {
 public:
  StreamEnd& of(int32_t device, int32_t stream) {
    for (size_t i = 0; i < used_; ++i) {
      if (first_[i].stream == stream && first_[i].device == device) return first_[i];
    }
    if (used_ == first_.size()) {
      StreamEnd& end = more_[track_of(device, stream)];
      end.device = device;
      end.stream = stream;
      return end;
    }
    StreamEnd& end = first_[used_++];
    end.device = device;
    end.stream = stream;
    return end;
  }

 private:
  std::array<StreamEnd, 8> first_;
  size_t used_ = 0;
  std::unordered_map<int64_t, StreamEnd> more_;
};

}  // namespace

bool begin_behind_predecessors(FileContent& content) {
  GpuEvents& gpu = content.gpu.events;
  const int64_t rounding_ns = content.resolution_ns > 1 ? content.resolution_ns : 0;
  StreamEnds ends;
  StreamEnd* last = nullptr;  // one stream has many rows in turn
  std::map<StringId, int64_t> waited;
  int64_t resident = 0, waiting = 0;
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (!is_kernel(gpu.work[i])) continue;
    const bool known = last != nullptr && last->stream == gpu.stream[i] && last->device == gpu.device[i];
    if (!known) last = &ends.of(gpu.device[i], gpu.stream[i]);
    const LocalNs free = last->end, end = gpu.start[i] + gpu.duration_ns[i];
    if (free.ns > gpu.start[i].ns + rounding_ns && end > free) {
      const int64_t wait_ns = free - gpu.start[i];
      const bool both_compute = gpu.work[i] == GpuWork::compute && last->work == GpuWork::compute;
      ++resident;
      if (!both_compute || wait_ns > kPrologue_ns) {
        if (gpu.work[i] == GpuWork::compute) waited[gpu.name[i]] += wait_ns;
        gpu.start[i] = free;
        gpu.duration_ns[i] -= wait_ns;
        ++waiting;
      }
    }
    if (end < free) continue;
    last->end = end;
    last->work = gpu.work[i];
  }
  if (resident == 0) return false;
  for (const auto& [name, ns] : waited) content.kernel_grids.add_time(name, -ns);
  add_finding(
      content.findings,
      {Severity::info, "waiting-kernels", content.file, Rank(), -1, resident,
       fmt::format("{} of {} GPU rows are kernels that were resident while the one before them on their stream "
                   "still ran (dependent launches, graphs); {} of them waited, and count from where that one ends",
                   resident, gpu.size(), waiting)});
  return waiting > 0;
}

}  // namespace skewscope::ingest
