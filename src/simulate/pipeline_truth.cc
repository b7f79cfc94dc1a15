#include "pipeline_truth.h"

#include <algorithm>

namespace skewscope::simulate {

PipelineTruth::PipelineTruth(const Job& job) : job_(job) {
  int32_t instances = 0;
  for (const Group& group : job.topology.groups) {
    first_instance_.push_back(instances);
    instances += slots_per_step(group.axis, job.options, job.topology);
    if (group.axis == Axis::pipeline) chains_.push_back(group.ranks);
  }
  windows_.resize(chains_.size());
}

void PipelineTruth::add_step(const StepTimeline& timeline) {
  for (size_t chain = 0; chain < chains_.size(); ++chain) {
    Window passes;
    for (const int32_t rank : chains_[chain]) {
      const std::vector<OpTimes>& ops = timeline.ranks[static_cast<size_t>(rank)].ops;
      for (size_t row = 0; row < ops.size(); ++row) {
        windows_[chain].first_ns = std::min(windows_[chain].first_ns, ops[row].start);
        windows_[chain].last_ns = std::max(windows_[chain].last_ns, ops[row].end);
        if (job_.program(rank).ops[row].pass < 0) continue;
        passes.first_ns = std::min(passes.first_ns, ops[row].start);
        passes.last_ns = std::max(passes.last_ns, ops[row].end);
      }
    }
    for (const int32_t rank : chains_[chain]) add_rank(rank, timeline, passes.last_ns - passes.first_ns);
  }
}

// How long the message that the operation at `row` waits for was under way while the rank stood still.
int64_t PipelineTruth::hop_ns(int32_t rank, size_t row, int64_t idle_from, const StepTimeline& timeline) const {
  const std::vector<Op>& program = job_.program(rank).ops;
  const int32_t needed = program[row].wait_for;
  if (needed < 0 || program[static_cast<size_t>(needed)].p2p_index < 0) return 0;
  const Op& receive = program[static_cast<size_t>(needed)];
  const auto group = static_cast<size_t>(job_.topology.group_of(rank, receive.axis));
  const Instance& message = timeline.instances[static_cast<size_t>(int64_t{first_instance_[group]} + receive.slot)];
  const auto times = [&](size_t member) {
    return timeline.ranks[static_cast<size_t>(message.ranks[member])].ops[static_cast<size_t>(message.op[member])];
  };
  return std::max<int64_t>(0, times(1).end - std::max({times(0).start, times(1).start, idle_from}));
}

void PipelineTruth::add_rank(int32_t rank, const StepTimeline& timeline, int64_t span_ns) {
  const std::vector<Op>& program = job_.program(rank).ops;
  const std::vector<OpTimes>& ops = timeline.ranks[static_cast<size_t>(rank)].ops;
  int64_t work_ns = 0, all_hops_ns = 0, start = 0, end = INT64_MIN;
  int32_t pass = -1;  // that runs from start to end; messages and gradient buckets between its rows belong to none
  for (size_t row = 0; row < ops.size(); ++row) {
    if (program[row].pass < 0) continue;
    if (program[row].pass != pass) {
      if (pass >= 0) work_ns += end - start;
      pass = program[row].pass;
      start = ops[row].start;
      all_hops_ns += hop_ns(rank, row, end, timeline);
    }
    end = ops[row].end;
  }
  if (pass >= 0) work_ns += end - start;
  work_ns_ += work_ns;
  hop_ns_ += all_hops_ns;
  bubble_ns_ += span_ns - work_ns - all_hops_ns;
}

int64_t PipelineTruth::total_ns() const {
  int64_t total = 0;
  for (size_t chain = 0; chain < chains_.size(); ++chain) {
    total += (windows_[chain].last_ns - windows_[chain].first_ns) * std::ssize(chains_[chain]);
  }
  return total;
}

}  // namespace skewscope::simulate
