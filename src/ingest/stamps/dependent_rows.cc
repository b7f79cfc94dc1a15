// Problem: with programmatic dependent launch the next kernel of a stream becomes resident while the one before it
// runs, and waits (griddepcontrol.wait) until that has ended; the tracer's row covers the waiting. A GEMM behind a
// collective that waits for a late rank then looks as if it computed all the while: waiting is hidden behind "work",
// and the GPU never idles. Kernels of a graph on one stream, and of one queue of an AMD GPU, overlap alike. Idea: a
// stream runs its kernels in order, so where two rows overlap the later one does its work behind the end of the
// earlier. What a kernel does before it waits is a prologue: barriers, descriptors, weights that it fetches ahead. Of
// two computing kernels that overlap by a few microseconds that is all there is, and both keep their rows;
// communication computes nothing meanwhile, however short. Why right: the union of the rows stays as it is, and so do
// all ends, by which collectives are matched and clocks aligned; a collective that is resident has not arrived before
// it may begin. A row that ends within the one before it cannot have waited for it (branches of a graph that share a
// stream's number) and stays. Copies are not launched dependently. Stamps of whole microseconds overlap by rounding: by
// no more than one. Cost: one pass over the rows.
#include "dependent_rows.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <unordered_map>
#include <vector>

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

class Predecessors {
 public:
  explicit Predecessors(FileContent& content)
      : content_(content),
        gpu_(content.gpu.events),
        rounding_ns_(content.resolution_ns > 1 ? content.resolution_ns : 0) {}

  // Where rows begin together, the longest comes first; on a stream that still runs it is the last to work.
  void look() {
    std::vector<size_t> together;
    for (size_t i = 0; i < gpu_.size(); ++i) {
      const bool goes_on = i + 1 < gpu_.size() && gpu_.start[i + 1] == gpu_.start[i];
      const bool waits = (goes_on || !together.empty()) && is_kernel(gpu_.work[i]) && is_busy(i);
      waits ? together.push_back(i) : look_at(i);
      if (goes_on) continue;
      for (auto row = together.rbegin(); row != together.rend(); ++row) look_at(*row);
      together.clear();
    }
  }

  bool say() const {
    if (resident_ == 0) return false;
    for (const auto& [name, ns] : waited_) content_.kernel_grids.add_time(name, -ns);
    report(content_, Severity::info, "waiting-kernels", resident_,
           fmt::format("{} of {} GPU rows are kernels that were resident while the previous one on their stream still "
                       "ran (dependent launches, graphs); {} waited and count from the end of the previous one",
                       resident_, gpu_.size(), waiting_));
    return waiting_ > 0;
  }

 private:
  // One stream has many rows in turn.
  StreamEnd& end_on_stream(size_t row) {
    const bool known = last_ != nullptr && last_->stream == gpu_.stream[row] && last_->device == gpu_.device[row];
    if (!known) last_ = &ends_.of(gpu_.device[row], gpu_.stream[row]);
    return *last_;
  }
  bool is_busy(size_t row) { return end_on_stream(row).end.ns > gpu_.start[row].ns + rounding_ns_; }

  void look_at(size_t row) {
    if (!is_kernel(gpu_.work[row])) return;
    StreamEnd& before = end_on_stream(row);
    const LocalNs free = before.end, end = gpu_.start[row] + gpu_.duration_ns[row];
    if (free.ns > gpu_.start[row].ns + rounding_ns_ && end > free) {
      const int64_t wait_ns = free - gpu_.start[row];
      const bool both_compute = gpu_.work[row] == GpuWork::compute && before.work == GpuWork::compute;
      ++resident_;
      if (!both_compute || wait_ns > kPrologue_ns) {
        if (gpu_.work[row] == GpuWork::compute) waited_[gpu_.name[row]] += wait_ns;
        gpu_.start[row] = free;
        gpu_.duration_ns[row] -= wait_ns;
        ++waiting_;
      }
    }
    if (end < free) return;
    before.end = end;
    before.work = gpu_.work[row];
  }

  FileContent& content_;
  GpuEvents& gpu_;
  const int64_t rounding_ns_;
  StreamEnds ends_;
  StreamEnd* last_ = nullptr;
  std::map<StringId, int64_t> waited_;
  int64_t resident_ = 0, waiting_ = 0;
};

}  // namespace

bool begin_behind_predecessors(FileContent& content) {
  Predecessors predecessors(content);
  predecessors.look();
  return predecessors.say();
}

}  // namespace skewscope::ingest
