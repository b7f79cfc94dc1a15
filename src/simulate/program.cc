// A transformer step in the manner of Megatron: every layer ends in a tensor-parallel all-reduce that the next kernel
// waits for; activations travel from stage to stage and gradients back, in the order of pass_order.h (one micro-batch:
// a plain fill and drain); gradients are reduced in buckets beside the last micro-batch's backward pass; one tiny
// all-reduce of the gradient norm joins the whole job; the optimizer's shards are gathered at the end.
#include "program.h"

#include <algorithm>
#include <utility>

#include "kernel_look.h"
#include "pass_order.h"

namespace skewscope::simulate {
namespace {

constexpr int64_t kActivations = int64_t{2048} * 2048;           // elements that travel per layer: 8 MB
constexpr int64_t kLayerParameters = int64_t{12} * 1024 * 1024;  // before sharding over tp
constexpr int32_t kLayersPerBucket = 4;

int32_t layers_per_chunk(const SimulateOptions& options) {
  return options.layers / (options.pp * options.virtual_stages);
}
int32_t buckets_per_chunk(const SimulateOptions& options) {
  return (layers_per_chunk(options) + kLayersPerBucket - 1) / kLayersPerBucket;
}
int32_t buckets(const SimulateOptions& options) { return options.virtual_stages * buckets_per_chunk(options); }

// Messages per micro-batch in one direction.
int32_t hops(const SimulateOptions& options, const Topology& topology) {
  return topology.pp * options.virtual_stages - 1;
}
bool has_own_group_back(const SimulateOptions& options, const Topology& topology) {
  return topology.pp == 2 && options.virtual_stages > 1;
}

class Builder {
 public:
  Builder(const SimulateOptions& options, const Topology& topology, int32_t stage)
      : options_(options), topology_(topology), stage_(stage), pending_(-1) {}

  Program build() {
    copy(OpClass::memcpy_in, 40'000);
    copy(OpClass::memset, 3'000);
    for (const Pass& pass : pass_order(topology_.pp, options_.micro_batches, options_.virtual_stages, stage_)) {
      pass.backward ? backward(pass) : forward(pass);
      ++passes_;
    }
    optimizer();
    return std::move(program_);
  }

 private:
  // Of the model, from its first layer on.
  int32_t stage_of(const Pass& pass) const { return pass.chunk * topology_.pp + stage_; }
  int32_t last_stage() const { return hops(options_, topology_); }

  void forward(const Pass& pass) {
    const int32_t stage = stage_of(pass);
    if (stage > 0) await(message(CollectiveKind::recv, pass, stage - 1));
    for (int32_t layer = 0; layer < layers_per_chunk(options_); ++layer) layer_pass(forward_layer());
    if (stage < last_stage()) {
      message(CollectiveKind::send, pass, stage);
    } else {
      kernel(kLossLook, 30'000);
      program_.ops.back().pass = passes_;
    }
  }

  void backward(const Pass& pass) {
    autograd_ = true;
    const int32_t stage = stage_of(pass);
    if (stage < last_stage()) await(message(CollectiveKind::recv, pass, stage));
    const int32_t layers = layers_per_chunk(options_);
    const bool last = pass.micro_batch + 1 == options_.micro_batches;
    for (int32_t layer = 0; layer < layers; ++layer) {
      layer_pass(backward_layer());
      const bool full = (layer + 1) % kLayersPerBucket == 0 || layer + 1 == layers;
      if (last && full) reduce_bucket(layer % kLayersPerBucket + 1);
    }
    if (stage > 0) message(CollectiveKind::send, pass, stage - 1);
    autograd_ = false;
  }

  void optimizer() {
    if (last_reduce_ >= 0) await(last_reduce_);
    kernel(kNormLook, 25'000);
    if (topology_.ranks > 1) {
      await(collective(CollectiveKind::all_reduce, Axis::world, 0, DType::float32, 1, 1));
    }
    for (int32_t i = 0; i < 4; ++i) kernel(kAdamLook, 60'000);
    if (topology_.dp > 1 && options_.vendor != TraceVendor::cpu) {
      for (const int64_t out : bucket_elements_) {
        await(
            collective(CollectiveKind::all_gather, Axis::data, data_slot_++, DType::bfloat16, out / topology_.dp, out));
      }
    }
    copy(OpClass::memcpy_out, 2'000);
  }

  void layer_pass(const std::vector<LayerKernel>& kernels) {
    for (const LayerKernel& one : kernels) {
      kernel(one.look, static_cast<int64_t>(one.share * static_cast<double>(options_.layer_compute_ns)));
      program_.ops.back().pass = passes_;
    }
    if (topology_.tp < 2) return;
    await(collective(CollectiveKind::all_reduce, Axis::tensor, tensor_slot_++, DType::bfloat16, kActivations,
                     kActivations));
    program_.ops.back().pass = passes_;
  }

  // Whole shards for every member.
  int64_t elements_of(int32_t layers) const {
    const int64_t elements = layers * kLayerParameters / topology_.tp;
    return elements / topology_.dp * topology_.dp;
  }

  void reduce_bucket(int32_t layers) {
    if (topology_.dp < 2) return;
    const int64_t in = elements_of(layers);
    bucket_elements_.push_back(in);
    const int32_t slot = data_slot_++;
    if (options_.vendor == TraceVendor::cpu) {  // gloo has no reduce_scatter
      last_reduce_ = collective(CollectiveKind::all_reduce, Axis::data, slot, DType::float32, in, in);
    } else {
      last_reduce_ =
          collective(CollectiveKind::reduce_scatter, Axis::data, slot, DType::bfloat16, in, in / topology_.dp);
    }
  }

  int32_t push(Op op) {
    op.on_autograd_thread = autograd_;
    program_.ops.push_back(op);
    return static_cast<int32_t>(program_.ops.size()) - 1;
  }

  // The next operation of the compute stream waits for `op`.
  void await(int32_t op) { pending_ = op; }

  void kernel(int32_t look, int64_t mean_ns) {
    Op op;
    op.look = look;
    op.mean_ns = mean_ns;
    op.wait_for = std::exchange(pending_, -1);
    last_compute_ = push(op);
  }

  void copy(OpClass what, int64_t mean_ns) {
    Op op;
    op.what = what;
    op.mean_ns = mean_ns;
    op.wait_for = std::exchange(pending_, -1);
    last_compute_ = push(op);
  }

  int32_t collective(CollectiveKind kind, Axis axis, int32_t slot, DType dtype, int64_t in, int64_t out) {
    Op op;
    op.what = OpClass::communication;
    op.stream = stream_of(axis);
    op.wait_for = pending_ >= 0 ? pending_ : last_compute_;
    op.kind = kind;
    op.axis = axis;
    op.slot = slot;
    op.dtype = dtype;
    op.in_elements = in;
    op.out_elements = out;
    return push(op);
  }

  // `hop`: from stage `hop` of the model to the one behind it, or back.
  int32_t message(CollectiveKind kind, const Pass& pass, int32_t hop) {
    const bool sends = kind == CollectiveKind::send;
    const bool own_group = has_own_group_back(options_, topology_);
    const int32_t number = pass.micro_batch * hops(options_, topology_) + hop;
    const int32_t slot = own_group ? number : 2 * number + (pass.backward ? 1 : 0);
    const Axis axis = own_group && pass.backward ? Axis::pipeline_back : Axis::pipeline;
    const int32_t row = collective(kind, axis, slot, DType::bfloat16, kActivations, kActivations);
    Op& op = program_.ops.back();
    const int32_t way = sends == pass.backward ? -1 : 1;
    op.peer_stage = (stage_ + way + topology_.pp) % topology_.pp;
    op.p2p_index = program_.p2p_calls++;
    if (!sends) op.wait_for = -1;  // posted ahead: it spins until its sender comes
    if (has_many_passes(options_)) {
      op.stream = stream_of(pass.backward ? Axis::pipeline_back : Axis::pipeline);
      if (sends) op.stream = static_cast<int32_t>(1 + kAxes) + (pass.backward ? 1 : 0);
    }
    return row;
  }

  const SimulateOptions& options_;
  const Topology& topology_;
  int32_t stage_;
  int32_t pending_;
  int32_t last_compute_ = -1;
  int32_t last_reduce_ = -1;
  bool autograd_ = false;
  int32_t passes_ = 0, tensor_slot_ = 0, data_slot_ = 0;
  std::vector<int64_t> bucket_elements_;
  Program program_;
};

}  // namespace

int32_t slots_per_step(Axis axis, const SimulateOptions& options, const Topology& topology) {
  switch (axis) {
    case Axis::world:
      return topology.ranks > 1 ? 1 : 0;
    case Axis::tensor:
      return 2 * options.micro_batches * options.virtual_stages * layers_per_chunk(options);
    case Axis::data:
      return options.vendor == TraceVendor::cpu ? buckets(options) : 2 * buckets(options);
    case Axis::pipeline:
    case Axis::pipeline_back:
      return (has_own_group_back(options, topology) ? 1 : 2) * options.micro_batches * hops(options, topology);
  }
  return 0;
}

MessageEnds ends_of_message(Axis axis, int32_t slot, const SimulateOptions& options, const Topology& topology) {
  const bool own_group = has_own_group_back(options, topology);
  const int32_t hop = (own_group ? slot : slot / 2) % hops(options, topology);
  const bool back = own_group ? axis == Axis::pipeline_back : slot % 2 != 0;
  const int32_t behind = hop % topology.pp, ahead = (hop + 1) % topology.pp;
  return back ? MessageEnds{ahead, behind} : MessageEnds{behind, ahead};
}

Program make_program(const SimulateOptions& options, const Topology& topology, int32_t stage) {
  return Builder(options, topology, stage).build();
}

int64_t counted_bytes(const Op& op) {
  const int64_t elements = op.kind == CollectiveKind::all_gather ? op.out_elements : op.in_elements;
  return elements * (op.dtype == DType::float32 ? 4 : 2);
}

}  // namespace skewscope::simulate
