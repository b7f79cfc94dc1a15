#include "job.h"

#include <algorithm>

#include "random.h"

namespace skewscope::simulate {
namespace {

constexpr uint64_t kLossStream = 103;

// One for each stage, and for each rank that does something else: of its own, or with other experts.
void add_programs(Job& job) {
  struct Known {
    int32_t stage;
    OwnWork own;
  };
  std::vector<Known> known;
  const bool each_its_own = !job.options.busy_experts.empty();
  for (int32_t rank = 0; rank < job.topology.ranks; ++rank) {
    const int32_t stage = job.topology.stage(rank);
    const OwnWork& own = job.trait(rank).own;
    const auto same = [&](const Known& one) { return one.stage == stage && one.own == own; };
    const auto at = each_its_own ? known.end() : std::find_if(known.begin(), known.end(), same);
    job.program_of.push_back(static_cast<int32_t>(at - known.begin()));
    if (at != known.end()) continue;
    known.push_back({stage, own});
    job.programs.push_back(make_program(job.options, job.topology, rank, own));
  }
}

}  // namespace

bool Job::kernel_lost(int32_t step, int32_t rank, int32_t op) const {
  if (options.lost_kernels <= 0) return false;
  const uint64_t position =
      mix(mix(static_cast<uint64_t>(step), static_cast<uint64_t>(rank)), static_cast<uint64_t>(op));
  return Random(mix(mix(options.seed, kLossStream), position)).uniform() < options.lost_kernels;
}

int64_t Job::seq(int32_t step, int32_t rank, const Op& op) const {
  const int64_t steps_before = int64_t{options.first_step} + step;
  if (op.p2p_index >= 0) return steps_before * program(rank).p2p_calls + op.p2p_index + 1;
  return steps_before * slots_per_step(op.axis, options, topology) + op.slot + 1;
}

Job make_job(const SimulateOptions& options) {
  Job job;
  job.options = options;
  job.topology = make_topology(options.nodes, options.gpus_per_node, options.tp, options.pp, options.virtual_stages,
                               options.experts > 0);
  job.clocks = make_clocks(options, job.topology);
  job.traits.resize(static_cast<size_t>(job.topology.ranks));
  for (const auto& slow : options.slow_ranks) job.traits[static_cast<size_t>(slow.rank)].slow_factor = slow.factor;
  for (const auto& gap : options.host_gaps) job.traits[static_cast<size_t>(gap.rank)].host_gap_ns = gap.gap_ns;
  for (const auto& host : options.slow_hosts) job.traits[static_cast<size_t>(host.rank)].host_factor = host.factor;
  for (const auto& link : options.slow_links) job.traits[static_cast<size_t>(link.rank)].link_factor = link.factor;
  for (const auto& late : options.late_windows) job.traits[static_cast<size_t>(late.rank)].late_steps = late.steps;
  for (const int32_t rank : options.missing_ranks) job.traits[static_cast<size_t>(rank)].has_file = false;
  for (const auto& more : options.more_kernels)
    job.traits[static_cast<size_t>(more.rank)].own.more_kernels = more.count;
  for (const auto& shape : options.other_shapes) job.traits[static_cast<size_t>(shape.rank)].own.shape = shape.factor;
  add_programs(job);
  return job;
}

}  // namespace skewscope::simulate
