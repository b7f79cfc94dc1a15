// As PyTorch does it: stages of the GPU, then slices of threads, a kind at a time, first all beginnings of a kind, then
// all ends; what a collective is stands in the arguments of record_param_comms around its launch.
#include "pftrace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>

#include "collectives/kind.h"
#include "perfetto_packets.h"

namespace skewscope::simulate {
namespace {

using Arguments = PerfettoPackets::Arguments;

constexpr uint64_t kProcessTrack = 1, kMainTrack = 2, kBackwardTrack = 3, kGpuTrack = 4, kFirstStreamTrack = 16;
constexpr int64_t kLaunchApi = 211, kCopyApi = 41, kFillApi = 51, kWaitApi = 165;  // of CUPTI
constexpr int64_t kCopyBytes = 4096;

// "Collective name" and "dtype", as PyTorch writes them.
std::string c10d_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
      return "_allgather_base";
    case CollectiveKind::reduce_scatter:
      return "_reduce_scatter_base";
    case CollectiveKind::all_to_all:
      return "all_to_allv";
    case CollectiveKind::send:
      return "send";
    case CollectiveKind::recv:
      return "recv";
    default:  // all that a simulated job has besides
      return "allreduce";
  }
}
std::string c10_name(DType dtype) { return dtype == DType::float32 ? "Float" : "BFloat16"; }

struct Slice {
  uint64_t track = 0;
  int64_t start_ns = 0, end_ns = 0;
  std::string name;
  Arguments arguments;
};

class PftraceFile {
 public:
  explicit PftraceFile(const SimulatedRank& rank)
      : rank_(rank),
        linked_(rank.file.linked),
        trace_(rank.file.linked.trace),
        numbers_(number_calls(rank.file.linked.trace, 1)) {}

  bool write(const std::string& path) {
    add_tracks();
    for (size_t row = 0; row < trace_.gpu.size(); ++row) add_stage(row);
    add_calls_of_runtime();
    add_stream_waits();
    add_collectives();
    for (const StepRange& step : trace_.steps) {
      add(kMainTrack, step.start, step.duration_ns, fmt::format("ProfilerStep#{}", step.number), {});
    }
    write_kind();
    std::ofstream file(path, std::ios::binary);
    file << packets_.bytes();
    file.close();
    return !file.fail();
  }

 private:
  void add_tracks() {
    packets_.process(kProcessTrack, rank_.process, "python3");
    packets_.thread(kMainTrack, kProcessTrack, rank_.process, rank_.main_thread,
                    fmt::format("thread {} (python3)", rank_.main_thread));
    packets_.thread(kBackwardTrack, kProcessTrack, rank_.process, rank_.backward_thread,
                    fmt::format("thread {} (pt_autograd_0)", rank_.backward_thread));
    packets_.process(kGpuTrack, trace_.device, fmt::format("GPU {}", trace_.device));
  }

  uint64_t track_of_thread(int64_t thread) const {
    return thread == rank_.backward_thread ? kBackwardTrack : kMainTrack;
  }

  uint64_t track_of_stream(int32_t stream) {
    const auto [known, added] = streams_.try_emplace(stream, kFirstStreamTrack + streams_.size());
    if (added) packets_.thread(known->second, kGpuTrack, trace_.device, stream, fmt::format("stream {}", stream));
    return known->second;
  }

  void add_stage(size_t row) {
    const GpuEvents& gpu = trace_.gpu;
    const bool copy = gpu.work[row] == GpuWork::memcpy, fill = gpu.work[row] == GpuWork::memset;
    PerfettoPackets::Stage stage;
    stage.start_ns = gpu.start[row].ns;
    stage.duration_ns = gpu.duration_ns[row];
    stage.gpu = gpu.device[row];
    stage.kind = copy ? "Memcpy" : fill ? "Memset" : "Kernel";
    stage.queue = fmt::format("stream {:04}", gpu.stream[row]);
    stage.name = linked_.strings.view(gpu.name[row]);
    stage.extra = {{"device id", gpu.device[row]}, {"stream id", gpu.stream[row]}};
    if (gpu.launch[row] >= 0)
      stage.extra.emplace_back("correlation", numbers_.launches[static_cast<size_t>(gpu.launch[row])]);
    if (copy || fill) stage.extra.emplace_back("bytes", kCopyBytes);
    stage.blocks = rank_.blocks[row];
    packets_.stage(stage);
  }

  void add_calls_of_runtime() {
    std::vector<GpuWork> works(trace_.launches.size(), GpuWork::compute);
    for (size_t row = 0; row < trace_.gpu.size(); ++row) {
      if (trace_.gpu.launch[row] >= 0) works[static_cast<size_t>(trace_.gpu.launch[row])] = trace_.gpu.work[row];
    }
    const auto call = [&](LocalNs start, int64_t duration_ns, int64_t thread, const char* name, int64_t api,
                          int64_t number) {
      add(track_of_thread(thread), start, duration_ns, name, {{"cbid", api}, {"correlation", number}});
    };
    const LaunchEvents& launches = trace_.launches;
    for (size_t i = 0; i < launches.size(); ++i) {
      const bool copy = works[i] == GpuWork::memcpy, fill = works[i] == GpuWork::memset;
      call(launches.start[i], launches.duration_ns[i], launches.thread[i],
           copy   ? "cudaMemcpyAsync"
           : fill ? "cudaMemsetAsync"
                  : "cudaLaunchKernel",
           copy   ? kCopyApi
           : fill ? kFillApi
                  : kLaunchApi,
           numbers_.launches[i]);
    }
    for (const LostLaunch& lost : rank_.lost_launches) {
      call(lost.at, kLostNs, rank_.main_thread, "cudaLaunchKernel", kLaunchApi, numbers_.next++);
    }
    for (const SynchronizingCall& wait : trace_.synchronizing) {
      call(wait.start, wait.duration_ns, rank_.main_thread, "cudaDeviceSynchronize", kWaitApi, numbers_.next++);
    }
    write_kind();
  }

  void add_stream_waits() {
    for (size_t i = 0; i < trace_.stream_waits.size(); ++i) {
      const StreamWait& wait = trace_.stream_waits[i];
      const int64_t stream = wait.stream, source = wait.source, device = trace_.device;
      add(track_of_stream(wait.stream), wait.start, 1000, "Stream Wait Event",
          {{"cuda_sync_kind", std::string("Stream Wait Event")},
           {"wait_on_stream", source},
           {"wait_on_cuda_event_record_corr_id", numbers_.records[i]},
           {"stream", stream},
           {"correlation", numbers_.waits[i]},
           {"device", device}});
    }
    write_kind();
  }

  void add_collectives() {
    for (size_t row = 0; row < trace_.calls.size(); ++row) {
      const CollectiveCall& call = trace_.calls[row];
      if (!call.launched || call.gpu_row < 0) continue;
      const auto launch = static_cast<size_t>(trace_.gpu.launch[static_cast<size_t>(call.gpu_row)]);
      const uint64_t track = track_of_thread(trace_.launches.thread[launch]);
      const LocalNs start = call.launch_start;
      if (call.module >= 0) {
        add(track, start + -2, call.launch_duration_ns + 4,
            fmt::format("FSDP::all_gather ({})", linked_.modules[static_cast<size_t>(call.module)]), {});
      }
      add(track, start + -1, call.launch_duration_ns + 2, "record_param_comms", arguments_of(row));
    }
    for (const LostLaunch& lost : rank_.lost_launches) {
      if (!lost.by_collective) continue;
      add(kMainTrack, lost.at + -1, kLostNs + 2, "record_param_comms",
          {{"Collective name", c10d_name(CollectiveKind::all_reduce)}});
    }
    write_kind();
  }

  Arguments arguments_of(size_t row) {
    const CollectiveCall& call = trace_.calls[row];
    Arguments arguments = {{"Collective name", c10d_name(call.kind)},
                           {"dtype", c10_name(call.dtype)},
                           {"In msg nelems", call.in_elements},
                           {"Out msg nelems", call.out_elements}};
    const OpenCall& open = rank_.file.linked.open_calls[row];
    if (open.group >= 0) {
      const GroupMention& group = linked_.groups[static_cast<size_t>(open.group)];
      arguments.emplace_back("Process Group Name", group.name);
      arguments.emplace_back("Process Group Description", group.description);
      arguments.emplace_back("Process Group Ranks", group.ranks);
      arguments.emplace_back("Group size", group.size);
      arguments.emplace_back("Global rank start", group.rank_start);
      arguments.emplace_back("Global rank stride", group.rank_stride);
    }
    if (call.peer.known()) {
      arguments.emplace_back(call.kind == CollectiveKind::send ? "Dst Rank" : "Src Rank", int64_t{call.peer.value});
    }
    if (call.seq >= 0) arguments.emplace_back("Seq", call.seq);
    if (call.comms_id != 0) arguments.emplace_back("Comms Id", static_cast<int64_t>(call.comms_id));
    add_splits(row, arguments);
    return arguments;
  }

  void add_splits(size_t row, Arguments& arguments) {
    std::vector<int64_t> in, out;
    const Column<SplitPart>& splits = trace_.splits;
    while (split_ < splits.size() && splits[split_].call < static_cast<int32_t>(row)) ++split_;
    for (size_t i = split_; i < splits.size() && splits[i].call == static_cast<int32_t>(row); ++i) {
      in.push_back(splits[i].sends);
      out.push_back(splits[i].receives);
    }
    if (in.empty()) return;
    arguments.emplace_back("In split size", std::move(in));
    arguments.emplace_back("Out split size", std::move(out));
  }

  void add(uint64_t track, LocalNs start, int64_t duration_ns, std::string name, Arguments arguments) {
    kind_.push_back({track, start.ns, start.ns + duration_ns, std::move(name), std::move(arguments)});
  }

  // The slices since the last kind.
  void write_kind() {
    for (const Slice& slice : kind_) packets_.begin(slice.track, slice.start_ns, slice.name, slice.arguments);
    for (const Slice& slice : kind_) packets_.end(slice.track, slice.end_ns);
    kind_.clear();
  }

  static constexpr int64_t kLostNs = 5000;  // that the launch of a lost kernel took

  const SimulatedRank& rank_;
  const LinkedTrace& linked_;
  const RankTrace& trace_;
  CallNumbers numbers_;
  PerfettoPackets packets_;
  std::map<int32_t, uint64_t> streams_;
  std::vector<Slice> kind_;
  size_t split_ = 0;
};

}  // namespace

bool write_pftrace_file(const std::vector<SimulatedRank>& ranks, const std::string& path) {
  return PftraceFile(ranks.front()).write(path);
}

std::string pftrace_file_name(const TraceFile& rank, int64_t) {
  return fmt::format("{0}-rank{1}@{0}.pftrace", rank.evidence.host, rank.evidence.distributed.rank);
}

}  // namespace skewscope::simulate
