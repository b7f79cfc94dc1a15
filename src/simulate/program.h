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
constexpr int32_t stream_of(Axis axis) { return 1 + static_cast<int32_t>(axis); }

// More than one forward and one backward pass per rank and step.
inline bool has_many_passes(const SimulateOptions& options) {
  return options.micro_batches > 1 || options.virtual_stages > 1;
}
// Those in use.
inline int32_t streams_of(const SimulateOptions& options) {
  return has_many_passes(options) ? static_cast<int32_t>(kStreams) : stream_of(Axis::pipeline) + 1;
}

enum class OpClass : uint8_t { kernel, memcpy_in, memcpy_out, memset, communication };

struct Op {
  OpClass what = OpClass::kernel;
  bool on_autograd_thread = false;
  int32_t stream = kComputeStream;
  int32_t look = -1;      // row in kernel_looks() for kernels
  int64_t mean_ns = 0;    // of kernels, copies, fills
  int32_t pass = -1;      // of the pipeline's passes of this rank in a step; -1: part of none
  int32_t wait_for = -1;  // an earlier operation that must have ended: the event its stream waits for
  // Communication only:
  CollectiveKind kind = CollectiveKind::unknown;
  Axis axis = Axis::world;
  int32_t slot = -1;        // which of the step's instances of its group
  int32_t p2p_index = -1;   // send, recv: which of the step's P2P calls of this rank
  int32_t peer_stage = -1;  // send, recv
  DType dtype = DType::bfloat16;
  int64_t in_elements = 0, out_elements = 0;
};

struct Program {
  std::vector<Op> ops;
  int32_t p2p_calls = 0;
};

// Positions in their group of who sends and who receives a message of the step.
struct MessageEnds {
  int32_t from = 0, to = 0;
};
MessageEnds ends_of_message(Axis axis, int32_t slot, const SimulateOptions& options, const Topology& topology);

// Instances per step of a group of this axis.
int32_t slots_per_step(Axis axis, const SimulateOptions& options, const Topology& topology);

Program make_program(const SimulateOptions& options, const Topology& topology, int32_t stage);

// Bytes S of an operation by the convention of nccl-tests, stated here on its own so that it can check collectives/.
int64_t counted_bytes(const Op& op);

}  // namespace skewscope::simulate
