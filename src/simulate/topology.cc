#include "topology.h"

namespace skewscope::simulate {
namespace {

void add_group(Topology& topology, Axis axis, const char* description, int32_t first, int32_t stride, int32_t size) {
  if (size < 2 && axis != Axis::world) return;
  Group group;
  group.axis = axis;
  group.name = std::to_string(topology.groups.size());
  group.description = description;
  const auto row = static_cast<int32_t>(topology.groups.size());
  for (int32_t i = 0; i < size; ++i) {
    const int32_t rank = first + i * stride;
    group.ranks.push_back(rank);
    group.spans_nodes |= topology.node(rank) != topology.node(first);
    topology.member[static_cast<size_t>(rank)][static_cast<size_t>(axis)] = row;
  }
  topology.groups.push_back(std::move(group));
}

}  // namespace

Topology make_topology(int32_t nodes, int32_t gpus_per_node, int32_t tp, int32_t pp, int32_t virtual_stages,
                       bool has_experts) {
  Topology topology;
  topology.ranks = nodes * gpus_per_node;
  topology.gpus_per_node = gpus_per_node;
  topology.tp = tp;
  topology.pp = pp;
  topology.dp = topology.ranks / (tp * pp);
  topology.member.assign(static_cast<size_t>(topology.ranks), {-1, -1, -1, -1, -1, -1});
  const int32_t per_stage = tp * topology.dp;
  add_group(topology, Axis::world, "default_pg", 0, 1, topology.ranks);
  for (int32_t stage = 0; stage < pp; ++stage) {
    for (int32_t shard = 0; shard < tp; ++shard) {
      add_group(topology, Axis::data, "DATA_PARALLEL_GROUP", stage * per_stage + shard, tp, topology.dp);
    }
  }
  for (int32_t first = 0; first < topology.ranks; first += tp) {
    add_group(topology, Axis::tensor, "TENSOR_MODEL_PARALLEL_GROUP", first, 1, tp);
  }
  for (int32_t first = 0; first < per_stage; ++first) {
    add_group(topology, Axis::pipeline, "PIPELINE_MODEL_PARALLEL_GROUP", first, per_stage, pp);
  }
  for (int32_t first = 0; pp == 2 && virtual_stages > 1 && first < per_stage; ++first) {
    add_group(topology, Axis::pipeline_back, "PIPELINE_MODEL_PARALLEL_BACKWARD_GROUP", first, per_stage, pp);
  }
  for (int32_t stage = 0; has_experts && stage < pp; ++stage) {
    for (int32_t shard = 0; shard < tp; ++shard) {
      add_group(topology, Axis::expert, "EXPERT_MODEL_PARALLEL_GROUP", stage * per_stage + shard, tp, topology.dp);
    }
  }
  return topology;
}

}  // namespace skewscope::simulate
