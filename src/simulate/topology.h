// Which ranks form which communicator, in Megatron's order: tensor-parallel neighbours first, then data, then pipeline:
// rank = (stage * dp + replica) * tp + shard.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace skewscope::simulate {

// pipeline_back: gradients travel in a group of their own, where one would not tell a rank's two kinds of messages to
// the same peer apart: two stages that the micro-batches pass several times.
// expert: the members of a data-parallel group, which exchange tokens between their experts.
enum class Axis : uint8_t { world, tensor, data, pipeline, pipeline_back, expert };
constexpr size_t kAxes = 6;
constexpr bool is_pipeline(Axis axis) { return axis == Axis::pipeline || axis == Axis::pipeline_back; }

struct Group {
  Axis axis = Axis::world;
  std::string name, description;  // as PyTorch names them: a counter of the job; "0" is default_pg
  std::vector<int32_t> ranks;     // ascending, an arithmetic progression
  bool spans_nodes = false;

  int32_t stride() const { return ranks.size() < 2 ? 1 : ranks[1] - ranks[0]; }
  int32_t position(int32_t rank) const { return (rank - ranks[0]) / stride(); }
};

struct Topology {
  int32_t ranks = 0, gpus_per_node = 0, tp = 1, dp = 1, pp = 1;
  std::vector<Group> groups;                       // groups[0] is the world; groups of one rank are not made
  std::vector<std::array<int32_t, kAxes>> member;  // [rank][axis]: row in groups, -1: none

  int32_t node(int32_t rank) const { return rank / gpus_per_node; }
  int32_t device(int32_t rank) const { return rank % gpus_per_node; }
  int32_t stage(int32_t rank) const { return rank / (tp * dp); }
  int32_t group_of(int32_t rank, Axis axis) const {
    return member[static_cast<size_t>(rank)][static_cast<size_t>(axis)];
  }
};

// tp * pp divides nodes * gpus_per_node.
Topology make_topology(int32_t nodes, int32_t gpus_per_node, int32_t tp, int32_t pp, int32_t virtual_stages,
                       bool has_experts = false);

}  // namespace skewscope::simulate
