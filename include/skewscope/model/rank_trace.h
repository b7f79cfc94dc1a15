// Data: what one rank's trace says, reduced to what reports need. Columns of equal length; row = index; strings
// interned.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "collectives/kind.h"
#include "collectives/transport.h"
#include "skewscope/base/column.h"
#include "skewscope/base/ids.h"
#include "skewscope/base/time.h"

namespace skewscope {

// GPU rows (kernels, copies, fills), sorted by (start, longest first).
struct GpuEvents {
  Column<LocalNs> start;
  Column<int64_t> duration_ns;  // >= 0
  Column<GpuWork> work;
  Column<StringId> name;
  Column<int32_t> device;
  Column<int32_t> stream;
  Column<int32_t> launch;  // row in LaunchEvents; -1: launched before recording began (orphan)

  size_t size() const { return start.size(); }
};

// Host calls that put work on the GPU; only those some GPU row refers to. Sorted by start.
struct LaunchEvents {
  Column<LocalNs> start;
  Column<int64_t> duration_ns;
  Column<int64_t> thread;
  bool has_threads = true;  // false: forget_threads() was called

  size_t size() const { return start.size(); }
};

// Visits the columns one by one: of GpuEvents, of LaunchEvents, constant or not.
template <class Events, class Visit>
void for_each_column(Events& events, const Visit& visit) {
  visit(events.start);
  visit(events.duration_ns);
  if constexpr (std::is_same_v<std::remove_const_t<Events>, LaunchEvents>) {
    visit(events.thread);
  } else {
    visit(events.work);
    visit(events.name);
    visit(events.device);
    visit(events.stream);
    visit(events.launch);
  }
}

// Computing kernels of one name that were launched alike, over all that a trace recorded. Ranks that run one program
// run kernels of the same names; with other shapes of their operands, on other grids.
struct KernelGrid {
  uint32_t kernel = 0;  // number of its name
  uint16_t grid = 0;    // number of its grid; 0: not recorded
  int64_t rows = 0;
  int64_t ns = 0;  // to the microsecond, which a digest keeps in few bytes

  friend bool operator==(const KernelGrid&, const KernelGrid&) = default;
};
// A trace keeps those that take longest, and at least a thousandth of all.
constexpr size_t kMostKernelGrids = 512;

// What a trace keeps of its kernels, by number.
std::vector<KernelGrid> longest_grids(std::vector<KernelGrid> all);

// Hashes: equal for equal texts, and hardly for others.
uint32_t kernel_number(std::string_view name);
uint16_t grid_number(std::string_view grid);

// One ProfilerStep#N range of the host.
struct StepRange {
  int64_t number = 0;
  LocalNs start;
  int64_t duration_ns = 0;
};

// A host call that returns when GPU work has ended: cudaDeviceSynchronize, cudaStreamSynchronize,
// cudaEventSynchronize and their kin.
struct SynchronizingCall {
  LocalNs start;
  int64_t duration_ns = 0;
};

// The host made a stream wait: what is launched to `stream` from then on waits for what had been launched to `source`.
struct StreamWait {
  LocalNs start;  // of the host's call
  int32_t stream = -1;
  int32_t source = -1;  // -1: any stream
  LocalNs recorded;     // the last launch or wait ahead of the event's record; `start` where it is not known
};

// Which record says what a collective call is.
enum class MetadataSource : uint8_t {
  kernel_args,         // arguments on the kernel itself
  record_param_comms,  // the CPU op over the launch (External id, or containment of the launch on its thread)
  annotation,          // the nccl:* / gloo:* range around the launch, or its GPU copy
  kernel_name,         // nothing but the name
};
const char* to_string(MetadataSource source);

// The part of a training step in which the host launched a call.
enum class CallPhase : uint8_t { unknown, forward, backward, optimizer };
const char* to_string(CallPhase phase);  // "" for unknown

// One rank's part in one collective: a communication kernel, or a gloo range of a CPU-only process.
struct CollectiveCall {
  LocalNs start;
  int64_t duration_ns = 0;
  int32_t gpu_row = -1;         // row in GpuEvents; -1 for a CPU backend
  int32_t stream = -1;          // GPU stream; -1 for a CPU backend
  CommunicatorId communicator;  // none: no group metadata in the trace (matching may infer one)
  CollectiveKind kind = CollectiveKind::unknown;
  DType dtype = DType::unknown;
  MetadataSource source = MetadataSource::kernel_name;
  bool custom = false;       // a kernel outside NCCL/RCCL/gloo (custom all-reduce, symmetric memory)
  bool waits = true;         // false: its rows do not wait for others: a kernel that only sends; not `custom`: copies
  int64_t in_elements = -1;  // of this rank's buffers; -1: absent
  int64_t out_elements = -1;
  Rank root;              // global rank; broadcast, reduce, gather, scatter; none where not recorded
  Rank peer;              // global rank; send, recv
  int64_t seq = -1;       // "Seq"; -1: absent
  uint64_t comms_id = 0;  // "Comms Id"; 0: absent
  int64_t step = -1;      // N of the ProfilerStep#N in which it was launched; -1: outside every step
  LocalNs launch_start;   // host call that launched it; equals start where launched == false
  int64_t launch_duration_ns = 0;
  bool launched = false;
  CallPhase phase = CallPhase::unknown;
  Algorithm algorithm = Algorithm::unknown;  // of the library, where the tracer tells them
  Protocol protocol = Protocol::unknown;
  int32_t together = -1;          // number of a collective among GPUs of this process alone; -1: of none
  int64_t measured_wait_ns = -1;  // how long the device itself says that it waited in the call; -1: it tells nothing
  int32_t module =
      -1;  // of the model, whose call it is: row of LinkedTrace::modules, of JobTrace::modules; -1: unknown

  LocalNs end() const { return start + duration_ns; }
};

// A message of a batch: of a kernel that sends and receives with several peers at once, whose call is `coalesced`. What
// it sends to one peer is one message, what it receives from one is another.
struct BatchMessage {
  int32_t call = -1;  // row of RankTrace::calls
  bool sends = false;
  Rank peer;  // global rank; none where not recorded
  DType dtype = DType::unknown;
  int64_t elements = -1;  // -1: absent
};

// What an all-to-all of unequal parts sends to one member of its group and receives from it: the parts of a call follow
// one another, one for each member in the order of the group. A single part of unknown sizes: the tracer cut its lists.
struct SplitPart {
  int32_t call = -1;                  // row of RankTrace::calls
  int64_t sends = -1, receives = -1;  // elements; -1: not known
};

// By the interface that launched the work, else by the device; NVIDIA where neither tells.
enum class GpuVendor : uint8_t {
  nvidia,
  amd,    // HIP
  intel,  // Unified Runtime, Level Zero
  other,  // launched through none of these: MTIA, Gaudi, Ascend
};

// The maker of the GPUs of a job. cpu: no trace has GPU rows; unknown: all are GpuVendor::other, or record calls only.
enum class JobVendor : uint8_t { unknown, nvidia, amd, intel, cpu, mixed };
const char* to_string(JobVendor vendor);  // "" for unknown

struct RankTrace {
  Rank rank;
  SessionId session;
  std::string file;         // as the user gave it
  std::string rank_source;  // which rule says the rank: "distributedInfo", "file name rank<R>", "--rank-map", …
  int32_t process = 0;      // that read it and holds its rows and calls (base/exchange.h)
  std::string host;         // host_name; "" where the trace has none
  std::vector<std::string> software;  // "NCCL/2.28.9", "CUDA/13.0": what the trace names with its version
  int32_t device = -1;                // the device most GPU rows ran on; -1: no GPU rows
  std::string device_name;            // "" where deviceProperties does not tell
  GpuVendor vendor = GpuVendor::nvidia;
  // Its tracer records calls and nothing else: no GPU row, and of calls no stream.
  bool calls_only = false;
  // Only how long its calls took is recorded: their places tell their order, and nothing of when they ran.
  bool durations_only = false;
  // Its log was too long to hold: one collective in so many is kept, the same ones on all ranks. 1: all are.
  int32_t one_of = 1;
  bool has_cpu_ops = true;    // false: GPU-only capture; its clock conversion drifts (reference: kineto #1080)
  int64_t resolution_ns = 1;  // smallest step of its time stamps: 1000 for whole microseconds
  LocalNs first_event;        // over GPU rows, launches and steps
  LocalNs last_event;
  GpuEvents gpu;
  LaunchEvents launches;
  Column<SynchronizingCall> synchronizing;  // of threads that launch; sorted by start
  Column<StreamWait> stream_waits;          // sorted by start; none: the trace does not tell them
  std::vector<StepRange> steps;             // sorted by start
  Column<CollectiveCall> calls;             // sorted by (start, end, stream)
  Column<BatchMessage> messages;            // sorted by call; in a job by (call, peer, sends), each once
  Column<SplitPart> splits;                 // sorted by call
  std::vector<KernelGrid> grids;            // sorted by (kernel, grid)
};

// Calls that ran on the host while the trace has GPU rows, by start: of gloo, MPI, UCC between GPUs. The GPU waits for
// them as for a kernel that communicates. None where the trace has no GPU rows: there the host is all there is.
std::vector<int32_t> calls_beside_gpu(const RankTrace& trace);
// The messages of call number `call`.
std::span<const BatchMessage> messages_of(const RankTrace& trace, int32_t call);
// The parts of call number `call`; none where it tells of none: all are equal, or it is no all-to-all.
std::span<const SplitPart> splits_of(const RankTrace& trace, int32_t call);

// Gives back LaunchEvents::thread; the other columns stay.
void forget_threads(RankTrace& trace);
// Gives back the messages of batches, which only tell what matches.
void forget_messages(RankTrace& trace);
// Gives back the parts of all-to-alls.
void forget_splits(RankTrace& trace);
// Gives back what only tells when rows were launched, and where they ran: the launches, the host's waits, and the
// columns device, stream and launch. The other columns stay.
void forget_launches(RankTrace& trace);
// Gives back all that tells of GPU rows; calls, steps and names stay.
void forget_rows(RankTrace& trace);

// Packs the columns of small traces: those that are given back together apart from others.
class TracePacker {
 public:
  void pack(RankTrace& trace);

 private:
  ColumnPacker staying_, messages_, splits_, rows_, launching_;
};

// Empty when columns have equal lengths, rows are sorted, indexes are in range; else the first violation, in words.
std::string check_invariants(const RankTrace& trace);

}  // namespace skewscope
