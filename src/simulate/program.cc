// A transformer step in the manner of Megatron: every layer ends in a tensor-parallel all-reduce that the next kernel
// waits for; activations travel from stage to stage and gradients back, in the order of pass_order.h (one micro-batch:
// a plain fill and drain); gradients are reduced in buckets while the last micro-batch's backward pass; one tiny
// all-reduce of the gradient norm joins the whole job; the optimizer's shards are gathered at the end. With sharded
// parameters (FSDP) each layer's are gathered while the layer in front of it computes, and its gradients are reduced
// next to the next. With experts the second half of a layer works on what an all-to-all brought, and sends it back.
#include "program.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernel_look.h"
#include "pass_order.h"

namespace skewscope::simulate {
namespace {

constexpr int64_t kActivations = int64_t{2048} * 2048;           // elements that travel per layer: 8 MB
constexpr int64_t kLayerParameters = int64_t{12} * 1024 * 1024;  // before sharding over tp
constexpr int32_t kExtraLook = 1;                                // a matrix product
constexpr double kExtraShare = 0.05;                             // of its layer

int32_t layers_per_chunk(const SimulateOptions& options) {
  return options.layers / (options.pp * options.virtual_stages);
}
int32_t buckets_per_chunk(const SimulateOptions& options) {
  return (layers_per_chunk(options) + options.layers_per_bucket - 1) / options.layers_per_bucket;
}
int32_t buckets(const SimulateOptions& options) { return options.virtual_stages * buckets_per_chunk(options); }

// Messages per micro-batch in one direction.
int32_t hops(const SimulateOptions& options, const Topology& topology) {
  return topology.pp * options.virtual_stages - 1;
}
bool has_own_group_back(const SimulateOptions& options, const Topology& topology) {
  return topology.pp == 2 && options.virtual_stages > 1;
}

// How many times its even part of the tokens each member of an expert group receives; they sum to the members.
std::vector<double> expert_loads(const SimulateOptions& options, const Topology& topology, int32_t rank) {
  const Group& group = topology.groups[static_cast<size_t>(topology.group_of(rank, Axis::expert))];
  std::vector<double> loads(group.ranks.size(), -1);
  double rest = static_cast<double>(loads.size());
  size_t usual = loads.size();
  for (const auto& busy : options.busy_experts) {
    const auto at = std::find(group.ranks.begin(), group.ranks.end(), busy.rank);
    if (at == group.ranks.end()) continue;
    double& load = loads[static_cast<size_t>(at - group.ranks.begin())];
    if (load >= 0) continue;
    load = std::min(busy.factor, rest);
    rest -= load;
    --usual;
  }
  for (double& load : loads) {
    if (load < 0) load = rest / static_cast<double>(usual);
  }
  return loads;
}

// Kernels of a layer that work on what the experts received.
struct ExpertPart {
  size_t begin, end;
};
constexpr ExpertPart kForwardExperts{6, 9}, kBackwardExperts{1, 6};

class Builder {
 public:
  Builder(const SimulateOptions& options, const Topology& topology, int32_t rank, const OwnWork& own)
      : options_(options), topology_(topology), rank_(rank), stage_(topology.stage(rank)), own_(own), pending_(-1) {
    if (has_experts()) loads_ = expert_loads(options, topology, rank);
  }

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
  // Counted along the model, from its first layer on.
  int32_t stage_of(const Pass& pass) const { return pass.chunk * topology_.pp + stage_; }
  int32_t last_stage() const { return hops(options_, topology_); }
  bool has_experts() const { return options_.experts > 0 && topology_.dp > 1; }
  bool shards_parameters() const { return options_.fsdp && topology_.dp > 1; }

  void forward(const Pass& pass) {
    const int32_t stage = stage_of(pass);
    if (stage > 0) await(message(CollectiveKind::recv, pass, stage - 1));
    const int32_t layers = layers_per_chunk(options_), first = stage * layers;
    int32_t gathered = gather_layer(first);
    for (int32_t layer = 0; layer < layers; ++layer) {
      gathered = use_layer(gathered, layer + 1 < layers ? first + layer + 1 : -1);
      layer_pass(forward_layer(), kForwardExperts);
    }
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
    const int32_t layers = layers_per_chunk(options_), deepest = (stage + 1) * layers - 1;
    const bool last = pass.micro_batch + 1 == options_.micro_batches;
    int32_t gathered = gather_layer(deepest);
    for (int32_t layer = 0; layer < layers; ++layer) {
      gathered = use_layer(gathered, layer + 1 < layers ? deepest - layer - 1 : -1);
      layer_pass(backward_layer(), kBackwardExperts);
      if (shards_parameters()) {
        reduce_bucket(1);
        program_.ops.back().layer = deepest - layer;
        continue;
      }
      const bool full = (layer + 1) % options_.layers_per_bucket == 0 || layer + 1 == layers;
      if (last && full) reduce_bucket(layer % options_.layers_per_bucket + 1);
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
    if (topology_.dp > 1 && options_.vendor != TraceVendor::cpu && !shards_parameters()) {
      for (const int64_t out : bucket_elements_) {
        await(
            collective(CollectiveKind::all_gather, Axis::data, data_slot_++, DType::bfloat16, out / topology_.dp, out));
      }
    }
    copy(OpClass::memcpy_out, 2'000);
  }

  void layer_pass(const std::vector<LayerKernel>& kernels, const ExpertPart& experts) {
    for (size_t k = 0; k < kernels.size(); ++k) {
      if (has_experts() && k == experts.begin) exchange_tokens(true);
      const bool of_experts = has_experts() && k >= experts.begin && k < experts.end;
      of_experts ? expert_kernels(kernels[k]) : layer_kernel(kernels[k].look, kernels[k].share);
      if (has_experts() && k + 1 == experts.end) exchange_tokens(false);
    }
    for (int32_t k = 0; k < own_.more_kernels; ++k) {
      layer_kernel(kExtraLook, kExtraShare);
      program_.ops.back().draw = kFirstExtraDraw + extras_++;
      --draws_;
    }
    if (topology_.tp < 2) return;
    await(collective(CollectiveKind::all_reduce, Axis::tensor, tensor_slot_++, DType::bfloat16, activations(),
                     activations()));
    program_.ops.back().pass = passes_;
  }

  // `share`: of the layer's time.
  void layer_kernel(int32_t look, double share) {
    kernel(look, std::llround(std::floor(share * own_.shape * static_cast<double>(options_.layer_compute_ns))));
    program_.ops.back().pass = passes_;
    program_.ops.back().shape = own_.shape;
  }

  void expert_kernels(const LayerKernel& one) {
    const double load = loads_[static_cast<size_t>(own_place())];
    for (int32_t expert = 0; expert < options_.experts; ++expert) {
      layer_kernel(one.look, one.share * load / options_.experts);
      program_.ops.back().shape *= load;
    }
  }

  int32_t own_place() const {
    return topology_.groups[static_cast<size_t>(topology_.group_of(rank_, Axis::expert))].position(rank_);
  }

  // Every member sends the same number of tokens, of which each receives its load; then they go back.
  void exchange_tokens(bool there) {
    const auto members = static_cast<int64_t>(loads_.size());
    const int64_t even = activations() / members;
    std::vector<int64_t> sent;
    for (const double load : loads_) sent.push_back(std::llround(load * static_cast<double>(even)));
    const std::vector<int64_t> received(loads_.size(), sent[static_cast<size_t>(own_place())]);
    int64_t out = 0;
    for (const int64_t elements : sent) out += elements;
    const int64_t in = received.front() * members;
    await(collective(CollectiveKind::all_to_all, Axis::expert, expert_slot_++, DType::bfloat16, there ? out : in,
                     there ? in : out));
    Op& op = program_.ops.back();
    op.pass = passes_;
    op.in_split = there ? sent : received;
    op.out_split = there ? received : sent;
  }

  // Gathers the parameters of a layer; -1: they are there.
  int32_t gather_layer(int32_t layer) {
    if (!shards_parameters()) return -1;
    const int64_t out = elements_of(1);
    const int32_t row =
        collective(CollectiveKind::all_gather, Axis::data, data_slot_++, DType::bfloat16, out / topology_.dp, out);
    program_.ops.back().layer = layer;
    return row;
  }

  // The layer computes once it is `gathered`, while the next is. `next_layer` -1: it is the last.
  int32_t use_layer(int32_t gathered, int32_t next_layer) {
    const int32_t next = next_layer >= 0 ? gather_layer(next_layer) : -1;
    if (gathered >= 0) await(gathered);
    return next;
  }

  int64_t scaled(int64_t elements) const {
    return std::llround(options_.message_factor * static_cast<double>(elements));
  }
  int64_t activations() const { return scaled(kActivations); }

  // Whole shards for every member.
  int64_t elements_of(int32_t layers) const {
    const int64_t elements = scaled(layers * kLayerParameters / topology_.tp);
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
    op.draw = draws_++;
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
    const int32_t row = collective(kind, axis, slot, DType::bfloat16, activations(), activations());
    Op& op = program_.ops.back();
    const int32_t way = sends == pass.backward ? -1 : 1;
    op.peer_stage = (stage_ + way + topology_.pp) % topology_.pp;
    op.p2p_index = program_.p2p_calls++;
    if (!sends) op.wait_for = -1;  // posted ahead: it spins until its sender comes
    if (has_many_passes(options_)) {
      op.stream = stream_of(pass.backward ? Axis::pipeline_back : Axis::pipeline);
      if (sends) op.stream = kFirstSendStream + (pass.backward ? 1 : 0);
    }
    return row;
  }

  const SimulateOptions& options_;
  const Topology& topology_;
  int32_t rank_, stage_;
  OwnWork own_;
  std::vector<double> loads_;  // by member of the expert group
  int32_t pending_;
  int32_t last_compute_ = -1;
  int32_t last_reduce_ = -1;
  bool autograd_ = false;
  int32_t passes_ = 0, tensor_slot_ = 0, data_slot_ = 0, expert_slot_ = 0;
  int32_t draws_ = 0, extras_ = 0;
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
    case Axis::expert:
      return 4 * options.micro_batches * options.virtual_stages * layers_per_chunk(options);
    case Axis::data:
      if (options.fsdp) return 3 * layers_per_chunk(options);
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

Program make_program(const SimulateOptions& options, const Topology& topology, int32_t rank, const OwnWork& own) {
  return Builder(options, topology, rank, own).build();
}

int64_t counted_bytes(const Op& op) {
  const int64_t elements = op.kind == CollectiveKind::all_gather ? op.out_elements : op.in_elements;
  return elements * (op.dtype == DType::float32 ? 4 : 2);
}

}  // namespace skewscope::simulate
