// Problem: all ranks' kernels in true time, where a collective couples its members and nothing else does.
// Idea: a rank's host schedule depends only on its own random numbers (it runs ahead of the GPU until it synchronizes
// at the end of the step), so GPU operations can be resolved in program order per rank: an operation starts when it is
// launched, its stream is free and the event it waits for has happened. A collective resolves when its last member has
// arrived; a rank that needs an unresolved end sleeps on that collective. Members issue their collectives in the same
// order, so somebody can always go on.
// Why right: every time depends only on earlier operations and on random streams keyed by (step, rank) or (step,
// instance), so the order in which ranks are visited does not matter. No member leaves before last arrival + transfer;
// on an ideal network all leave then. Cost: one visit per operation plus one per sleep.
#include "timeline.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "collectives/traffic.h"
#include "random.h"

namespace skewscope::simulate {
namespace {

constexpr uint64_t kHostStream = 1, kInstanceStream = 2, kBiasStream = 3, kDurationStream = 4, kExtraStream = 5;

// Host: 2025 server CPUs and PyTorch eager mode.
constexpr int64_t kStepHeadNs = 150'000;    // data loader, zero_grad
constexpr int64_t kStepTailNs = 60'000;     // after the synchronization
constexpr int64_t kLaunchToStartNs = 4000;  // launch call begins -> kernel begins, at least
constexpr int64_t kKernelGapNs = 800;       // between kernels of one stream

// Fabric: NVLink inside a node, one 400 Gb/s port per GPU between nodes.
constexpr double kNodeBytesPerNs = 200, kFabricBytesPerNs = 45;
constexpr int64_t kNodeLatencyNs = 9'000, kFabricLatencyNs = 22'000;
constexpr double kTransferCv = 0.05, kComputeCv = 0.02;

// Members leave within microseconds of each other: a bias of the position in the ring, and chance.
constexpr int64_t kSpreadLimit = 10;  // exit_jitter_ns

double transfer_factor(const SimulateOptions& options, const Group& group, const Op& op) {
  double factor = 1;
  for (const auto& changed : options.transfer_factors) {
    const bool of_pass = changed.backward.value_or(op.on_autograd_thread) == op.on_autograd_thread;
    const bool of_layer = changed.layer < 0 || changed.layer == op.layer;
    const bool same = changed.kind == op.kind && changed.group == group.description;
    if (same && of_pass && of_layer) factor *= changed.factor;
  }
  return factor;
}

}  // namespace

TimelineEngine::TimelineEngine(const Job& job) : job_(job) {
  const auto ranks = static_cast<size_t>(job.topology.ranks);
  host_free_.assign(ranks, 0);
  cursors_.resize(ranks);
  timeline_.ranks.resize(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    timeline_.ranks[rank].ops.resize(job.program(static_cast<int32_t>(rank)).ops.size());
    host_free_[rank] = static_cast<int64_t>(Random(stream_seed(kHostStream, rank)).uniform() * 300'000);
  }
  for (size_t row = 0; row < job.topology.groups.size(); ++row) {
    const Group& group = job.topology.groups[row];
    first_instance_.push_back(static_cast<int32_t>(timeline_.instances.size()));
    Random bias(stream_seed(kBiasStream, row));
    position_bias_.emplace_back();
    for (size_t i = 0; i < group.ranks.size(); ++i) {
      position_bias_.back().push_back(
          static_cast<int64_t>(bias.uniform() * static_cast<double>(job.options.exit_jitter_ns)));
    }
    for (int32_t slot = 0; slot < slots_per_step(group.axis, job.options, job.topology); ++slot) {
      Instance instance;
      instance.group = static_cast<int32_t>(row);
      instance.slot = slot;
      instance.ranks = group.ranks;
      if (is_pipeline(group.axis)) {
        const MessageEnds ends = ends_of_message(group.axis, slot, job.options, job.topology);
        instance.ranks = {group.ranks[static_cast<size_t>(ends.from)], group.ranks[static_cast<size_t>(ends.to)]};
      }
      instance.op.assign(instance.ranks.size(), -1);
      timeline_.instances.push_back(std::move(instance));
    }
  }
}

uint64_t TimelineEngine::stream_seed(uint64_t purpose, uint64_t who) const {
  return mix(mix(job_.options.seed, purpose), mix(static_cast<uint64_t>(step_) + 1, who));
}

int32_t TimelineEngine::instance_of(int32_t rank, const Op& op) const {
  return first_instance_[static_cast<size_t>(job_.topology.group_of(rank, op.axis))] + op.slot;
}

const StepTimeline& TimelineEngine::next_step() {
  ++step_;
  for (Instance& instance : timeline_.instances) instance.arrived = 0;
  for (int32_t rank = 0; rank < job_.topology.ranks; ++rank) {
    schedule_host(rank);
    cursors_[static_cast<size_t>(rank)] = Cursor{};
    awake_.push_back(rank);
  }
  while (!awake_.empty()) {
    const int32_t rank = awake_.back();
    awake_.pop_back();
    run_rank(rank);
  }
  for (int32_t rank = 0; rank < job_.topology.ranks; ++rank) end_step(rank);
  return timeline_;
}

void TimelineEngine::schedule_host(int32_t rank) {
  const RankTraits& traits = job_.trait(rank);
  RankStep& step = timeline_.ranks[static_cast<size_t>(rank)];
  Random random(stream_seed(kHostStream, static_cast<uint64_t>(rank)));
  Random extra(stream_seed(kExtraStream, static_cast<uint64_t>(rank)));
  int64_t now = step.begin = host_free_[static_cast<size_t>(rank)];
  now += static_cast<int64_t>(kStepHeadNs * random.lognormal(0.1));
  step.gap_begin = now;
  step.gap_end = now += traits.host_gap_ns;
  const Program& program = job_.program(rank);
  for (size_t row = 0; row < program.ops.size(); ++row) {
    OpTimes& times = step.ops[row];
    const bool communication = program.ops[row].what == OpClass::communication;
    const double pace = job_.options.launch_factor * traits.host_factor *
                        (1 + 0.3 * (is_extra(program.ops[row]) ? extra : random).exponential());
    times.begin = now;
    times.launch = now + static_cast<int64_t>((communication ? 22'000 : 2'400) * pace);
    times.launched = times.launch + static_cast<int64_t>((communication ? 7'000 : 3'200) * pace);
    times.done = times.launched + static_cast<int64_t>((communication ? 9'000 : 1'300) * pace);
    times.start = times.end = times.all_arrived = -1;
    now = times.done + 600;
  }
  step.sync_begin = now + 1000;
}

bool TimelineEngine::op_can_start(int32_t rank, int32_t row, int64_t& earliest) {
  const auto& times = timeline_.ranks[static_cast<size_t>(rank)].ops;
  const Op& op = job_.program(rank).ops[static_cast<size_t>(row)];
  earliest = times[static_cast<size_t>(row)].launch + kLaunchToStartNs;
  const int32_t before = cursors_[static_cast<size_t>(rank)].last_on_stream[static_cast<size_t>(op.stream)];
  for (const int32_t needed : {before, op.wait_for}) {
    if (needed < 0) continue;
    const int64_t end = times[static_cast<size_t>(needed)].end;
    if (end < 0) {
      const Op& unresolved = job_.program(rank).ops[static_cast<size_t>(needed)];
      timeline_.instances[static_cast<size_t>(instance_of(rank, unresolved))].sleepers.push_back(rank);
      return false;
    }
    earliest = std::max(earliest, end + kKernelGapNs);
  }
  return true;
}

void TimelineEngine::run_rank(int32_t rank) {
  const Program& program = job_.program(rank);
  auto& times = timeline_.ranks[static_cast<size_t>(rank)].ops;
  Cursor& cursor = cursors_[static_cast<size_t>(rank)];
  for (; cursor.op < static_cast<int32_t>(program.ops.size()); ++cursor.op) {
    int64_t earliest = 0;
    if (!op_can_start(rank, cursor.op, earliest)) return;
    const Op& op = program.ops[static_cast<size_t>(cursor.op)];
    OpTimes& own = times[static_cast<size_t>(cursor.op)];
    const auto who = mix(static_cast<uint64_t>(rank), static_cast<uint64_t>(op.draw));
    Random random(stream_seed(kDurationStream, who));
    own.start = earliest + static_cast<int64_t>(random.uniform() * 400);
    cursor.last_on_stream[static_cast<size_t>(op.stream)] = cursor.op;
    if (op.what == OpClass::communication && job_.instant_calls) {
      own.end = own.start;
    } else if (op.what == OpClass::communication) {
      arrive(rank, cursor.op);
    } else {
      const double slow = op.what == OpClass::kernel ? job_.trait(rank).slow_factor : 1;
      own.end = own.start + std::llround(static_cast<double>(op.mean_ns) * slow * random.lognormal(kComputeCv));
    }
  }
}

void TimelineEngine::arrive(int32_t rank, int32_t op) {
  Instance& instance =
      timeline_.instances[static_cast<size_t>(instance_of(rank, job_.program(rank).ops[static_cast<size_t>(op)]))];
  const auto member = std::find(instance.ranks.begin(), instance.ranks.end(), rank) - instance.ranks.begin();
  instance.op[static_cast<size_t>(member)] = op;
  if (++instance.arrived == static_cast<int32_t>(instance.ranks.size())) finish(instance);
}

void TimelineEngine::finish(Instance& instance) {
  const Group& group = job_.topology.groups[static_cast<size_t>(instance.group)];
  const auto key = mix(static_cast<uint64_t>(instance.group), static_cast<uint64_t>(instance.slot));
  Random random(stream_seed(kInstanceStream, key));
  int64_t last_arrival = 0;
  const auto own_times = [&](size_t member) -> OpTimes& {
    return timeline_.ranks[static_cast<size_t>(instance.ranks[member])].ops[static_cast<size_t>(instance.op[member])];
  };
  for (size_t i = 0; i < instance.ranks.size(); ++i) last_arrival = std::max(last_arrival, own_times(i).start);

  const Op& op = job_.program(instance.ranks[0]).ops[static_cast<size_t>(instance.op[0])];
  const bool far = is_pipeline(group.axis)
                       ? job_.topology.node(instance.ranks[0]) != job_.topology.node(instance.ranks[1])
                       : group.spans_nodes;
  double bytes = static_cast<double>(counted_bytes(op));
  if (op.kind == CollectiveKind::all_to_all) {  // who sends or receives most
    for (size_t i = 0; i < instance.ranks.size(); ++i) {
      const Op& own = job_.program(instance.ranks[i]).ops[static_cast<size_t>(instance.op[i])];
      bytes = std::max(bytes, static_cast<double>(2 * std::max(own.in_elements, own.out_elements)));
    }
  }
  const double volume = bytes * bus_bandwidth_factor(op.kind, std::ssize(instance.ranks));
  double slowest = 1;
  for (const int32_t rank : instance.ranks) slowest = std::max(slowest, job_.trait(rank).link_factor);
  const double mean = static_cast<double>(far ? kFabricLatencyNs : kNodeLatencyNs) +
                      (far ? volume / kFabricBytesPerNs * slowest : volume / kNodeBytesPerNs);
  const double transfer = std::round(mean * random.lognormal(kTransferCv));
  const double factor = job_.ideal_network ? 0 : transfer_factor(job_.options, group, op);
  for (size_t i = 0; i < instance.ranks.size(); ++i) {
    const auto position = static_cast<size_t>(group.position(instance.ranks[i]));
    const int64_t spread =
        position_bias_[static_cast<size_t>(instance.group)][position] +
        static_cast<int64_t>(static_cast<double>(job_.options.exit_jitter_ns) * random.exponential());
    const auto whole = transfer + static_cast<double>(std::min(spread, kSpreadLimit * job_.options.exit_jitter_ns));
    own_times(i).all_arrived = last_arrival;
    own_times(i).end = last_arrival + std::llround(factor * whole);
  }
  awake_.insert(awake_.end(), instance.sleepers.begin(), instance.sleepers.end());
  instance.sleepers.clear();
}

void TimelineEngine::end_step(int32_t rank) {
  RankStep& step = timeline_.ranks[static_cast<size_t>(rank)];
  assert(cursors_[static_cast<size_t>(rank)].op == static_cast<int32_t>(step.ops.size()));
  int64_t gpu_idle = 0;
  for (const OpTimes& times : step.ops) gpu_idle = std::max(gpu_idle, times.end);
  step.end = std::max(gpu_idle + 8'000, step.sync_begin + 2'000) + kStepTailNs;
  host_free_[static_cast<size_t>(rank)] = step.end + 5'000;
}

}  // namespace skewscope::simulate
