// Problem: no trace says which tensor, data or pipeline parallel coordinates a rank has; groups of ranks do, where they
// form a grid.
// Idea: groups of one name and one size that hold each rank once are an axis: a rank's coordinate is its place within
// its group, members in order of rank. Stages that messages show (Pipeline) are an axis, too. Some axes make a grid if
// their sizes multiply to the world size, each rank has coordinates of its own, and the members of a group differ along
// its own axis alone. Of several grids, that of most axes is the finest and contains the others; where two are equally
// fine, the groups do not tell, and there is none. Where groups form none: the GPUs of nodes of equal size. Cost:
// O(2^axes x ranks x axes), with at most 10 axes of different partitions; sizes that do not multiply cost nothing.
#include "rank_grid.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace skewscope::report {
namespace {

constexpr size_t kMostAxes = 10;

struct Partition {
  RankGrid::Axis axis;
  std::vector<int32_t> group;  // row = rank: which of its groups has it; empty: nothing but the coordinates is known
};

// The groups of one name and size as an axis; none where they do not hold each rank once, or each is a rank alone.
std::optional<Partition> partition_of(const std::string& name, const std::vector<std::vector<int32_t>>& groups,
                                      size_t world) {
  if (groups.empty() || groups.front().size() < 2 || groups.size() * groups.front().size() != world) return {};
  Partition out{{name, static_cast<int32_t>(groups.front().size()), std::vector<int32_t>(world, -1)},
                std::vector<int32_t>(world, -1)};
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t place = 0; place < groups[g].size(); ++place) {
      const int32_t rank = groups[g][place];
      if (rank < 0 || static_cast<size_t>(rank) >= world || out.group[static_cast<size_t>(rank)] >= 0) return {};
      out.group[static_cast<size_t>(rank)] = static_cast<int32_t>(g);
      out.axis.coordinate[static_cast<size_t>(rank)] = static_cast<int32_t>(place);
    }
  }
  return out;
}

std::optional<Partition> stages_of(const JobReport::Pipeline& pipeline, size_t world) {
  if (pipeline.stages < 2) return {};
  Partition out{{"pipeline", pipeline.stages, std::vector<int32_t>(world, -1)}, {}};
  size_t placed = 0;
  for (const JobReport::Pipeline::Stage& stage : pipeline.by_stage) {
    for (const int32_t rank : stage.ranks) {
      if (rank < 0 || static_cast<size_t>(rank) >= world) return {};
      out.axis.coordinate[static_cast<size_t>(rank)] = stage.stage;
      ++placed;
    }
  }
  if (placed != world) return {};
  return out;
}

std::vector<Partition> partitions_of(const JobReport& report, size_t world) {
  std::map<std::pair<std::string, size_t>, std::set<std::vector<int32_t>>> kinds;
  for (const JobReport::CommunicatorRow& row : report.communicators) {
    std::vector<int32_t> ranks = row.ranks;
    std::sort(ranks.begin(), ranks.end());
    const bool named = !row.desc.empty() && row.desc != "undefined";
    kinds[{named ? row.desc : "", ranks.size()}].insert(std::move(ranks));
  }
  std::vector<Partition> partitions;
  const auto add = [&](std::optional<Partition> next) {
    const auto same = [&](const Partition& p) {
      const bool both_groups = !p.group.empty() && !next->group.empty();
      return both_groups ? p.group == next->group : p.axis.coordinate == next->axis.coordinate;
    };
    if (next && std::none_of(partitions.begin(), partitions.end(), same)) partitions.push_back(std::move(*next));
  };
  for (const auto& [kind, groups] : kinds) {
    const std::string name = kind.first.empty() ? "group of " + std::to_string(kind.second) : kind.first;
    add(partition_of(name, {groups.begin(), groups.end()}, world));
  }
  add(stages_of(report.pipeline, world));
  if (partitions.size() > kMostAxes) partitions.resize(kMostAxes);
  return partitions;
}

// Whether members of a group of `own` differ along its own axis alone.
bool keeps_others(const Partition& own, const Partition& other) {
  std::map<int32_t, int32_t> of_group;
  for (size_t rank = 0; rank < own.group.size(); ++rank) {
    const auto [at, is_new] = of_group.emplace(own.group[rank], other.axis.coordinate[rank]);
    if (!is_new && at->second != other.axis.coordinate[rank]) return false;
  }
  return true;
}

bool is_grid(const std::vector<const Partition*>& axes, size_t world) {
  size_t product = 1;
  for (const Partition* axis : axes) product *= static_cast<size_t>(axis->axis.size);
  if (product != world) return false;
  std::vector<bool> taken(world);
  for (size_t rank = 0; rank < world; ++rank) {
    size_t cell = 0;
    for (const Partition* axis : axes) {
      cell = cell * static_cast<size_t>(axis->axis.size) + static_cast<size_t>(axis->axis.coordinate[rank]);
    }
    if (taken[cell]) return false;
    taken[cell] = true;
  }
  for (const Partition* own : axes) {
    for (const Partition* other : axes) {
      if (own != other && !keeps_others(*own, *other)) return false;
    }
  }
  return true;
}

// By how far rank numbers are apart from one place of the axis to the next: the first rank that has left 0.
int32_t stride_of(const RankGrid::Axis& axis) {
  const auto first = std::find_if(axis.coordinate.begin(), axis.coordinate.end(), [](int32_t at) { return at > 0; });
  return static_cast<int32_t>(first - axis.coordinate.begin());
}

// Nodes of as many ranks each; none where hosts are not known, or there is one.
RankGrid grid_of_nodes(const JobReport& report, size_t world) {
  std::map<std::string, std::vector<int32_t>> hosts;
  for (const JobReport::RankRow& row : report.ranks) {
    if (!row.host.empty()) hosts[row.host].push_back(row.rank);
  }
  RankGrid grid;
  if (hosts.size() < 2) return grid;
  std::vector<std::vector<int32_t>> nodes;
  for (auto& [host, ranks] : hosts) nodes.push_back(ranks);
  std::sort(nodes.begin(), nodes.end());
  if (std::any_of(nodes.begin(), nodes.end(), [&](const auto& n) { return n.size() != nodes.front().size(); })) {
    return grid;
  }
  std::optional<Partition> gpus = partition_of("GPU", nodes, world);
  if (!gpus) return grid;
  grid.source = RankGrid::Source::nodes;
  grid.axes = {gpus->axis, {"node", static_cast<int32_t>(nodes.size()), gpus->group}};
  return grid;
}

}  // namespace

RankGrid rank_grid(const JobReport& report) {
  const auto world = static_cast<size_t>(std::max(0, report.job.world_size));
  const std::vector<Partition> partitions = partitions_of(report, world);
  std::vector<const Partition*> finest;
  bool ambiguous = false;
  for (size_t chosen = 1; chosen < size_t{1} << partitions.size(); ++chosen) {
    std::vector<const Partition*> axes;
    for (size_t i = 0; i < partitions.size(); ++i) {
      if ((chosen >> i & 1U) != 0) axes.push_back(&partitions[i]);
    }
    if (axes.size() < std::max<size_t>(2, finest.size()) || !is_grid(axes, world)) continue;
    ambiguous = axes.size() == finest.size();
    finest = axes;
  }
  if (finest.empty() || ambiguous) {
    RankGrid grid = grid_of_nodes(report, world);
    grid.ambiguous = ambiguous;
    return grid;
  }
  RankGrid grid;
  grid.source = RankGrid::Source::groups;
  for (const Partition* axis : finest) grid.axes.push_back(axis->axis);
  std::stable_sort(grid.axes.begin(), grid.axes.end(),
                   [](const auto& a, const auto& b) { return stride_of(a) < stride_of(b); });
  return grid;
}

}  // namespace skewscope::report
