// What one rank of a pipeline stage does in a step: the same list of operations every step, in launch order.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/kind.h"
#include "skewscope/simulate.h"
#include "topology.h"

namespace skewscope::simulate {

// Streams of a rank: 0 computes; each process group has one of its own, as in PyTorch. With several passes in a step,
// messages of each direction are sent on one stream and received on another, so that none holds up those behind it.
constexpr size_t kStreams = 1 + kAxes + 2;
constexpr int32_t kComputeStream = 0;
constexpr int32_t kFirstSendStream = 1 + static_cast<int32_t>(Axis::expert);
constexpr int32_t stream_of(Axis axis) {
  return axis == Axis::expert ? kFirstSendStream + 2 : 1 + static_cast<int32_t>(axis);
}

// More than one forward and one backward pass per rank and step.
inline bool has_many_passes(const SimulateOptions& options) {
  return options.micro_batches > 1 || options.virtual_stages > 1;
}
// Those in use.
inline int32_t streams_of(const SimulateOptions& options) {
  if (options.experts > 0) return static_cast<int32_t>(kStreams);
  return has_many_passes(options) ? kFirstSendStream + 2 : stream_of(Axis::pipeline) + 1;
}

enum class OpClass : uint8_t { kernel, memcpy_in, memcpy_out, memset, communication };

struct Op {
  OpClass what = OpClass::kernel;
  bool on_autograd_thread = false;
  int32_t stream = kComputeStream;
  int32_t look = -1;      // row in kernel_looks() for kernels
  int64_t mean_ns = 0;    // of kernels, copies, fills
  double shape = 1;       // of kernels: the recorded operands have so many times as many rows
  int32_t draw = 0;       // whose random duration it has: that of a rank without faults at the same place
  int32_t pass = -1;      // of the pipeline's passes of this rank in a step; -1: part of none
  int32_t layer = -1;     // of the model, whose parameters are gathered or gradients reduced; -1: of none
  int32_t wait_for = -1;  // an earlier operation that must have ended: the event its stream waits for
  // Communication only:
  CollectiveKind kind = CollectiveKind::unknown;
  Axis axis = Axis::world;
  int32_t slot = -1;        // which of the step's instances of its group
  int32_t p2p_index = -1;   // send, recv: which of the step's P2P calls of this rank
  int32_t peer_stage = -1;  // send, recv
  DType dtype = DType::bfloat16;
  int64_t in_elements = 0, out_elements = 0;
  std::vector<int64_t> in_split, out_split;  // all_to_all: elements per member
};
// What a rank does beyond the others of its stage adds no draw of theirs.
constexpr int32_t kFirstExtraDraw = 1 << 24;
constexpr bool is_extra(const Op& op) { return op.draw >= kFirstExtraDraw; }

struct Program {
  std::vector<Op> ops;
  int32_t p2p_calls = 0;
};
// Whether the traces have a row for what operation `row` waits for on another stream.
inline bool writes_stream_wait(const SimulateOptions& options, const Program& program, size_t row) {
  const int32_t needed = program.ops[row].wait_for;
  return options.sync_events && options.vendor == TraceVendor::nvidia && needed >= 0 &&
         program.ops[static_cast<size_t>(needed)].stream != program.ops[row].stream;
}

// Positions in their group of who sends and who receives a message of the step.
struct MessageEnds {
  int32_t from = 0, to = 0;
};
MessageEnds ends_of_message(Axis axis, int32_t slot, const SimulateOptions& options, const Topology& topology);

// Instances per step of a group of this axis.
int32_t slots_per_step(Axis axis, const SimulateOptions& options, const Topology& topology);

// What one rank does otherwise than the others of its stage.
struct OwnWork {
  int32_t more_kernels = 0;  // per layer and direction
  double shape = 1;          // its operands have so many times as many rows, and its layers take as much longer
  bool operator==(const OwnWork&) const = default;
};

// What `rank` runs, without faults where `own` is empty.
Program make_program(const SimulateOptions& options, const Topology& topology, int32_t rank, const OwnWork& own);

// Bytes S of an operation by the convention of nccl-tests, stated here on its own so that it can check collectives/.
int64_t counted_bytes(const Op& op);

}  // namespace skewscope::simulate
