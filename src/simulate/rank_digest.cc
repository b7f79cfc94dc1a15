// Rows are added as the timeline gives them and put in the order of the room at the end. Each field says what the
// text of rank_writer says; a test holds the reports from both against each other.
#include "rank_digest.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <tuple>

#include "document.h"
#include "kernel_look.h"
#include "skewscope/digest.h"
#include "skewscope/model/lost_kernels.h"
#include "trace_sink.h"

namespace skewscope::simulate {
namespace {

RankRuns listed(const Group& group) {
  return RankRuns::progression(group.ranks[0], group.stride(), static_cast<int64_t>(group.ranks.size()));
}

template <class Rows>
void reorder(const std::vector<int32_t>& order, Rows& rows) {
  Rows sorted;
  sorted.reserve(rows.size());
  for (const int32_t i : order) sorted.push_back(std::move(rows[static_cast<size_t>(i)]));
  rows = std::move(sorted);
}

// 0..rows-1 sorted by `less`, equal ones in their order.
template <class Less>
std::vector<int32_t> sorted_order(size_t rows, const Less& less) {
  std::vector<int32_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return less(static_cast<size_t>(a), static_cast<size_t>(b)); });
  return order;
}

std::vector<int32_t> inverse(const std::vector<int32_t>& order) {
  std::vector<int32_t> at(order.size());
  for (size_t i = 0; i < order.size(); ++i) at[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
  return at;
}

// Row of the name in `modules`, added where it is new; -1 for "".
int32_t module_row(const std::string& module, std::vector<std::string>& modules) {
  if (module.empty()) return -1;
  const auto known = std::find(modules.begin(), modules.end(), module);
  const auto row = static_cast<int32_t>(known - modules.begin());
  if (known == modules.end()) modules.push_back(module);
  return row;
}

std::string name_of(const Op& op, const CommunicationText& spelling) {
  switch (op.what) {
    case OpClass::communication:
      return spelling.kernel_name;
    case OpClass::kernel:
      return kernel_looks()[static_cast<size_t>(op.look)].nvidia_name;
    default:
      return copy_name(op.what);
  }
}

GpuWork work_of(OpClass what) {
  switch (what) {
    case OpClass::communication:
      return GpuWork::communication;
    case OpClass::memcpy_in:
    case OpClass::memcpy_out:
      return GpuWork::memcpy;
    case OpClass::memset:
      return GpuWork::memset;
    case OpClass::kernel:
      break;
  }
  return GpuWork::compute;
}

}  // namespace

RankDigest::RankDigest(const Job& job, int32_t rank, const std::string& directory, const std::string& final_directory,
                       const NodeFormat* format)
    : job_(job),
      rank_(rank),
      clock_(job.clocks[static_cast<size_t>(rank)]),
      layout_(make_layout(job, rank)),
      file_name_(fmt::format("rank{}_trace.json{}", rank, kDigestSuffix)),
      path_(directory + "/" + file_name_),
      format_(format) {
  kept_.rank = rank;
  kept_.node = job.topology.node(rank);
  kept_.process = layout_.pid;
  kept_.main_thread = layout_.host(false).tid;
  kept_.backward_thread = layout_.autograd_tid;
  describe_rank(final_directory);
  if (format_ != nullptr && format_->own_file != nullptr) {
    file_name_ = format_->own_file(file_, kept_.process);
  } else if (format_ != nullptr) {
    file_name_ = name_of_node_file(*format_, kept_.node);
    if (job.options.gpus_per_node > 1) file_name_ += '#' + format_->part(kept_);
  }
  for (const Op& op : job.program(rank).ops) facts_.push_back(facts_of(op));
}

void RankDigest::describe_rank(const std::string& final_directory) {
  RankEvidence& evidence = file_.evidence;
  file_.kind = ContentKind::rank_trace;
  file_.format = "kineto json";
  evidence.file = fmt::format("{}/rank{}_trace.json", final_directory, rank_);
  evidence.folder = std::filesystem::absolute(final_directory).lexically_normal().string();
  evidence.host = fmt::format("node{}", job_.topology.node(rank_));
  evidence.gpus = job_.options.gpus_per_node;
  evidence.distributed.present = true;
  evidence.distributed.rank = rank_;
  evidence.distributed.world_size = job_.topology.ranks;
  evidence.distributed.backend = "nccl";
  for (const Axis axis : {Axis::world, Axis::data, Axis::tensor, Axis::pipeline, Axis::pipeline_back, Axis::expert}) {
    const int32_t row = job_.topology.group_of(rank_, axis);
    if (row < 0) continue;
    const Group& group = job_.topology.groups[static_cast<size_t>(row)];
    const auto size = static_cast<int64_t>(group.ranks.size());
    evidence.distributed.groups.push_back({group.name, group.description, size, listed(group), -1, ""});
    evidence.largest_group = std::max(evidence.largest_group, size);
    if (axis == Axis::world) {
      evidence.default_group_size = size;
      evidence.symmetric_rank = rank_;
    }
  }
  RankTrace& trace = file_.linked.trace;
  trace.host = evidence.host;
  trace.software = software_of(job_);
  file_.linked.device_names.assign(static_cast<size_t>(evidence.gpus), device_name(job_.options.vendor));
}

RankDigest::OpFacts RankDigest::facts_of(const Op& op) {
  OpFacts facts;
  facts.stream = static_cast<int32_t>(stream_number(job_, layout_, op.stream));
  facts.work = work_of(op.what);
  if (op.what == OpClass::communication) {
    facts.spelling = communication_text(job_, rank_, op);
    facts.module = module_row(facts.spelling.module, file_.linked.modules);
  }
  if (op.what == OpClass::kernel) {
    facts.kernel = kernel_number(name_of(op, facts.spelling));
    facts.blocks = grid_of(op);
    facts.grid = grid_number(fmt::format("[{}, 1, 1]", facts.blocks));
  }
  facts.name = file_.linked.strings.intern(name_of(op, facts.spelling));
  return facts;
}

// Row of the operation's group among those mentioned.
int32_t RankDigest::mention(const Op& op) {
  const Group& group = job_.topology.groups[static_cast<size_t>(job_.topology.group_of(rank_, op.axis))];
  std::vector<GroupMention>& groups = file_.linked.groups;
  const auto known = std::find_if(groups.begin(), groups.end(),
                                  [&](const GroupMention& mentioned) { return mentioned.name == group.name; });
  if (known != groups.end()) return static_cast<int32_t>(known - groups.begin());
  groups.push_back({group.name, group.description, static_cast<int64_t>(group.ranks.size()), rank_list(group),
                    group.ranks[0], group.stride()});
  if (group.ranks.size() <= kShownRanks) {
    file_.evidence.call_groups.push_back(listed(group));
  }
  return static_cast<int32_t>(groups.size()) - 1;
}

bool RankDigest::write_step(int32_t step, const RankStep& timeline) {
  const Program& program = job_.program(rank_);
  const LocalNs begin = local(timeline.begin);
  file_.linked.trace.steps.push_back({job_.options.first_step + step, begin, local(timeline.end) - begin});
  int64_t backward_end = -1;  // the last launch of the backward pass
  for (size_t row = 0; row < program.ops.size(); ++row) {
    const bool lost = job_.kernel_lost(step, rank_, static_cast<int32_t>(row));
    if (program.ops[row].on_autograd_thread && !lost) backward_end = std::max(backward_end, timeline.ops[row].launch);
  }
  backward_end_ = local(backward_end < 0 ? timeline.end : backward_end);
  for (size_t row = 0; row < program.ops.size(); ++row) {
    const bool lost = job_.kernel_lost(step, rank_, static_cast<int32_t>(row));
    ++(lost ? lost_rows_ : gpu_rows_);
    if (!lost) add_operation(step, program.ops[row], facts_[row], timeline.ops[row]);
    count_kernel(program.ops[row], timeline.ops[row], lost);
    add_host_rows(program.ops[row], timeline.ops[row], lost);
    if (writes_stream_wait(job_.options, program, row)) {
      const auto needed = static_cast<size_t>(program.ops[row].wait_for);
      file_.linked.trace.stream_waits.push_back({local(stream_wait_at(timeline.ops[row])), facts_[row].stream,
                                                 facts_[needed].stream, local(timeline.ops[needed].launch)});
    }
  }
  const LocalNs waits = local(timeline.sync_begin);
  file_.linked.trace.synchronizing.push_back({waits, std::max<int64_t>(0, local(timeline.end) - kSyncTailNs - waits)});
  if (job_.topology.ranks > 1) add_host_row(timeline.sync_begin - 900, timeline.sync_begin - 300);  // of work.wait()
  return true;
}

// What a reader keeps of the host: launches of rows that are there, and record_param_comms.
void RankDigest::add_host_rows(const Op& op, const OpTimes& times, bool lost) {
  if (!lost) add_host_row(times.launch, times.launched);
  if (op.what != OpClass::communication) return;
  add_host_row(nested(times.begin, times.launch, 2, 4), nested(times.done, times.launched, 2, 4));
}

void RankDigest::add_host_row(int64_t begin_true, int64_t end_true) {
  LinkedTrace& linked = file_.linked;
  linked.first_host_row = has_host_rows_ ? std::min(linked.first_host_row, local(begin_true)) : local(begin_true);
  linked.last_host_row = has_host_rows_ ? std::max(linked.last_host_row, local(end_true)) : local(end_true);
  has_host_rows_ = true;
}

void RankDigest::add_operation(int32_t step, const Op& op, const OpFacts& facts, const OpTimes& times) {
  LaunchEvents& launches = file_.linked.trace.launches;
  GpuEvents& gpu = file_.linked.trace.gpu;
  CollectiveCall call;
  call.launch_start = local(times.launch);
  call.launch_duration_ns = local(times.launched) - call.launch_start;
  call.start = local(times.start);
  call.duration_ns = local(times.end) - call.start;
  call.gpu_row = static_cast<int32_t>(gpu.size());
  call.stream = facts.stream;
  if (op.what == OpClass::communication) add_call(step, op, facts, call);
  if (op.what == OpClass::communication && format_ != nullptr) {
    kept_.waits.push_back(std::max<int64_t>(0, local(times.all_arrived) - call.start));
  }
  if (op.what == OpClass::kernel) count_grid(facts, call.duration_ns);
  if (format_ != nullptr) kept_.blocks.push_back(facts.blocks);
  gpu.start.push_back(call.start);
  gpu.duration_ns.push_back(call.duration_ns);
  gpu.work.push_back(facts.work);
  gpu.name.push_back(facts.name);
  gpu.device.push_back(layout_.device);
  gpu.stream.push_back(facts.stream);
  gpu.launch.push_back(static_cast<int32_t>(launches.size()));
  launches.start.push_back(call.launch_start);
  launches.duration_ns.push_back(call.launch_duration_ns);
  launches.thread.push_back(layout_.host(op.on_autograd_thread).tid);
}

// `call`: as far as its row and its launch tell.
void RankDigest::add_call(int32_t step, const Op& op, const OpFacts& facts, CollectiveCall call) {
  call.kind = op.kind;
  call.dtype = op.dtype;
  call.source = MetadataSource::kernel_args;
  call.in_elements = op.in_elements;
  call.out_elements = op.out_elements;
  call.step = job_.options.first_step + step;
  call.launched = true;
  if (job_.options.style == TraceStyle::era_e) {
    call.seq = job_.seq(step, rank_, op);
    call.comms_id = comms_id(facts.spelling, call.seq, op.p2p_index >= 0);
  }
  if (op.peer_stage >= 0) {
    const Group& group = job_.topology.groups[static_cast<size_t>(job_.topology.group_of(rank_, op.axis))];
    call.peer = Rank(group.ranks[static_cast<size_t>(op.peer_stage)]);
  }
  call.phase = phase_of(op, call.launch_start);
  call.module = facts.module;
  add_splits(op);
  file_.linked.trace.calls.push_back(call);
  file_.linked.open_calls.push_back({mention(op), -1, op.peer_stage});
}

// As a reader tells it; what follows the backward pass has no range of an optimizer around it.
CallPhase RankDigest::phase_of(const Op& op, LocalNs launch) const {
  if (op.on_autograd_thread) return CallPhase::backward;
  if (op.kind == CollectiveKind::send || op.kind == CollectiveKind::recv) return CallPhase::unknown;
  return launch < backward_end_ ? CallPhase::forward : CallPhase::unknown;
}

// Splits of the next call.
void RankDigest::add_splits(const Op& op) {
  const auto call = static_cast<int32_t>(file_.linked.trace.calls.size());
  Column<SplitPart>& splits = file_.linked.trace.splits;
  if (op.in_split.size() > kShownRanks) {
    splits.push_back({call, -1, -1});
    return;
  }
  for (size_t i = 0; i < op.in_split.size(); ++i) splits.push_back({call, op.in_split[i], op.out_split[i]});
}

void RankDigest::count_grid(const OpFacts& facts, int64_t duration_ns) {
  KernelGrid& sum =
      grids_.try_emplace({facts.kernel, facts.grid}, KernelGrid{facts.kernel, facts.grid, 0, 0}).first->second;
  ++sum.rows;
  sum.ns += duration_ns;
}

void RankDigest::count_kernel(const Op& op, const OpTimes& times, bool lost) {
  const bool collective = op.what == OpClass::communication;
  if (!collective && op.what != OpClass::kernel) return;
  ++kernels_;
  if (lost) lost_kernels_.push_back({local(times.launch), collective});
}

// As a reader finds it: a launch without a row is a loss where its kernel was through before recording ended, as one
// launched later shows on every stream, or the time that any kernel took at most.
void RankDigest::report_lost() {
  const RankTrace& trace = file_.linked.trace;
  const GpuEvents& gpu = trace.gpu;
  std::map<int32_t, LocalNs> last_launch;  // by stream
  LocalNs end = trace.steps.empty() ? LocalNs{INT64_MIN} : trace.steps.back().start + trace.steps.back().duration_ns;
  int64_t longest_ns = 0;
  for (size_t i = 0; i < gpu.size(); ++i) {
    const LocalNs launch = trace.launches.start[static_cast<size_t>(gpu.launch[i])];
    LocalNs& last = last_launch.try_emplace(gpu.stream[i], launch).first->second;
    last = std::max(last, launch);
    end = std::max(end, gpu.start[i] + gpu.duration_ns[i]);
    longest_ns = std::max(longest_ns, gpu.start[i] + gpu.duration_ns[i] - launch);
  }
  if (last_launch.empty()) return;
  LocalNs followed{INT64_MAX};
  for (const auto& [stream, last] : last_launch) followed = std::min(followed, last);
  const LocalNs before = std::max(followed, end - longest_ns);
  LostKernels kernels{kernels_, 0, static_cast<int64_t>(trace.calls.size()), 0};
  for (const LostLaunch& lost : lost_kernels_) {
    if (lost.at >= before) continue;
    ++kernels.lost;
    kernels.collectives_lost += lost.by_collective ? 1 : 0;
  }
  if (kernels.lost > 0) add_finding(file_.linked.findings, finding_of(kernels, file_.evidence.file));
}

bool RankDigest::finish() {
  sort_rows();
  report_lost();
  std::vector<KernelGrid> grids;
  for (const auto& [number, sum] : grids_) grids.push_back(sum);
  file_.linked.trace.grids = longest_grids(std::move(grids));
  RankTrace& trace = file_.linked.trace;
  file_.events = static_cast<int64_t>(trace.gpu.size() + trace.launches.size() + trace.steps.size());
  if (!trace.steps.empty()) {  // a step holds all that was launched in it
    trace.first_event = trace.steps.front().start;
    trace.last_event = trace.steps.back().start + trace.steps.back().duration_ns;
  }
  if (trace.gpu.size() > 0) {
    trace.device = layout_.device;
    trace.device_name = device_name(job_.options.vendor);
  }
  file_.evidence.first_event = trace.first_event;
  file_.evidence.last_event = trace.last_event;
  if (format_ != nullptr) {
    kept_.file = std::move(file_);
    kept_.lost_launches = std::move(lost_kernels_);
    return true;
  }
  TraceSink sink(path_, "");
  const bool written = sink.write(to_digest(file_)) && sink.close();
  file_ = TraceFile();
  return written;
}

// GPU rows by (start, longest first), launches and calls by their own order; rows refer to each other by number.
void RankDigest::sort_rows() {
  GpuEvents& gpu = file_.linked.trace.gpu;
  LaunchEvents& launches = file_.linked.trace.launches;
  const auto by_launch =
      sorted_order(launches.size(), [&](size_t a, size_t b) { return launches.start[a] < launches.start[b]; });
  const auto by_start = sorted_order(gpu.size(), [&](size_t a, size_t b) {
    return std::make_tuple(gpu.start[a], -gpu.duration_ns[a]) < std::make_tuple(gpu.start[b], -gpu.duration_ns[b]);
  });
  const std::vector<int32_t> new_launch = inverse(by_launch);
  for (int32_t& launch : gpu.launch) launch = new_launch[static_cast<size_t>(launch)];
  for_each_column(launches, [&](auto& column) { reorder(by_launch, column); });
  for_each_column(gpu, [&](auto& column) { reorder(by_start, column); });
  if (format_ != nullptr) reorder(by_start, kept_.blocks);
  sort_calls(inverse(by_start));
}

void RankDigest::sort_calls(const std::vector<int32_t>& new_row) {
  Column<CollectiveCall>& calls = file_.linked.trace.calls;
  for (CollectiveCall& call : calls) call.gpu_row = new_row[static_cast<size_t>(call.gpu_row)];
  const auto order = sorted_order(calls.size(), [&](size_t a, size_t b) {
    return std::make_tuple(calls[a].start, calls[a].end(), calls[a].stream) <
           std::make_tuple(calls[b].start, calls[b].end(), calls[b].stream);
  });
  reorder(order, calls);
  reorder(order, file_.linked.open_calls);
  if (format_ != nullptr) reorder(order, kept_.waits);
  const std::vector<int32_t> new_call = inverse(order);
  Column<SplitPart>& splits = file_.linked.trace.splits;
  for (SplitPart& part : splits) part.call = new_call[static_cast<size_t>(part.call)];
  std::stable_sort(splits.begin(), splits.end(),
                   [](const SplitPart& a, const SplitPart& b) { return a.call < b.call; });
}

}  // namespace skewscope::simulate
