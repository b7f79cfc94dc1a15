// A transformer step in the manner of Megatron: every layer ends in a tensor-parallel all-reduce that the next kernel
// waits for; activations travel from stage to stage and gradients back (one micro-batch: a plain fill and drain);
// gradients are reduced in buckets beside the rest of the backward pass; one tiny all-reduce of the gradient norm joins
// the whole job; the optimizer's shards are gathered at the end.
#include "program.h"

#include <algorithm>
#include <utility>

#include "kernel_look.h"

namespace skewscope::simulate {
namespace {

constexpr int64_t kActivations = int64_t{2048} * 2048;           // elements that travel per layer: 8 MB
constexpr int64_t kLayerParameters = int64_t{12} * 1024 * 1024;  // before sharding over tp
constexpr int32_t kLayersPerBucket = 4;

int32_t layers_per_stage(const SimulateOptions& options) { return options.layers / options.pp; }
int32_t buckets(const SimulateOptions& options) {
  return (layers_per_stage(options) + kLayersPerBucket - 1) / kLayersPerBucket;
}

class Builder {
 public:
  Builder(const SimulateOptions& options, const Topology& topology, int32_t stage)
      : options_(options), topology_(topology), stage_(stage), pending_(-1) {}

  Program build() {
    copy(OpClass::memcpy_in, 40'000);
    copy(OpClass::memset, 3'000);
    if (stage_ > 0) await(p2p(CollectiveKind::recv, stage_ - 1, 2 * (stage_ - 1)));
    for (int32_t layer = 0; layer < layers_per_stage(options_); ++layer) layer_pass(forward_layer(), layer);
    if (stage_ + 1 < topology_.pp) {
      p2p(CollectiveKind::send, stage_ + 1, 2 * stage_);
    } else {
      kernel(kLossLook, 30'000);
    }
    backward();
    optimizer();
    return std::move(program_);
  }

 private:
  void backward() {
    autograd_ = true;
    if (stage_ + 1 < topology_.pp) await(p2p(CollectiveKind::recv, stage_ + 1, 2 * stage_ + 1));
    const int32_t layers = layers_per_stage(options_);
    for (int32_t layer = 0; layer < layers; ++layer) {
      layer_pass(backward_layer(), layers + layer);
      if ((layer + 1) % kLayersPerBucket == 0 || layer + 1 == layers) reduce_bucket(layer / kLayersPerBucket, layers);
    }
    if (stage_ > 0) p2p(CollectiveKind::send, stage_ - 1, 2 * (stage_ - 1) + 1);
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
      const int32_t layers = layers_per_stage(options_);
      for (int32_t bucket = 0; bucket < buckets(options_); ++bucket) {
        const int64_t out = bucket_elements(bucket, layers);
        await(collective(CollectiveKind::all_gather, Axis::data, buckets(options_) + bucket, DType::bfloat16,
                         out / topology_.dp, out));
      }
    }
    copy(OpClass::memcpy_out, 2'000);
  }

  void layer_pass(const std::vector<LayerKernel>& kernels, int32_t slot) {
    for (const LayerKernel& one : kernels) {
      kernel(one.look, static_cast<int64_t>(one.share * static_cast<double>(options_.layer_compute_ns)));
    }
    if (topology_.tp > 1) {
      await(collective(CollectiveKind::all_reduce, Axis::tensor, slot, DType::bfloat16, kActivations, kActivations));
    }
  }

  // Whole shards for every member.
  int64_t bucket_elements(int32_t bucket, int32_t layers) const {
    const int32_t in_bucket = std::min(kLayersPerBucket, layers - bucket * kLayersPerBucket);
    const int64_t elements = in_bucket * kLayerParameters / topology_.tp;
    return elements / topology_.dp * topology_.dp;
  }

  void reduce_bucket(int32_t bucket, int32_t layers) {
    if (topology_.dp < 2) return;
    const int64_t in = bucket_elements(bucket, layers);
    if (options_.vendor == TraceVendor::cpu) {  // gloo has no reduce_scatter
      last_reduce_ = collective(CollectiveKind::all_reduce, Axis::data, bucket, DType::float32, in, in);
    } else {
      last_reduce_ =
          collective(CollectiveKind::reduce_scatter, Axis::data, bucket, DType::bfloat16, in, in / topology_.dp);
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

  int32_t p2p(CollectiveKind kind, int32_t peer_stage, int32_t slot) {
    const int32_t row = collective(kind, Axis::pipeline, slot, DType::bfloat16, kActivations, kActivations);
    Op& op = program_.ops.back();
    op.peer_stage = peer_stage;
    op.p2p_index = program_.p2p_calls++;
    if (kind == CollectiveKind::recv) op.wait_for = -1;  // posted ahead: it spins until its sender comes
    return row;
  }

  const SimulateOptions& options_;
  const Topology& topology_;
  int32_t stage_;
  int32_t pending_;
  int32_t last_compute_ = -1;
  int32_t last_reduce_ = -1;
  bool autograd_ = false;
  Program program_;
};

}  // namespace

int32_t slots_per_step(Axis axis, const SimulateOptions& options, const Topology& topology) {
  switch (axis) {
    case Axis::world:
      return topology.ranks > 1 ? 1 : 0;
    case Axis::tensor:
      return 2 * layers_per_stage(options);
    case Axis::data:
      return options.vendor == TraceVendor::cpu ? buckets(options) : 2 * buckets(options);
    case Axis::pipeline:
      return 2 * (topology.pp - 1);
  }
  return 0;
}

Program make_program(const SimulateOptions& options, const Topology& topology, int32_t stage) {
  return Builder(options, topology, stage).build();
}

int64_t counted_bytes(const Op& op) {
  const int64_t elements = op.kind == CollectiveKind::all_gather ? op.out_elements : op.in_elements;
  return elements * (op.dtype == DType::float32 ? 4 : 2);
}

}  // namespace skewscope::simulate
