// The story of one file: put GPU times right, join launches by correlation, find the step of each launch, and make one
// CollectiveCall of each communication kernel, and of what ran without one: copies, ranges of gloo and MPI.
#include "link_calls.h"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absent_arguments.h"
#include "call_metadata.h"
#include "call_modules.h"
#include "call_phases.h"
#include "calls_of_records.h"
#include "calls_without_kernels.h"
#include "collectives/synchronization.h"
#include "describe_rows.h"
#include "group_mentions.h"
#include "host_calls.h"
#include "join_by_neighbours.h"
#include "join_by_order.h"
#include "join_launches.h"
#include "link_details.h"
#include "lost_kernels.h"
#include "own_devices.h"
#include "skewscope/model/keep_steps.h"
#include "sort_calls.h"
#include "src/ingest/stamps/clocks_apart.h"
#include "src/ingest/stamps/late_ends.h"
#include "src/ingest/stamps/repair_gpu_rows.h"
#include "src/ingest/stamps/rows_apart.h"
#include "stream_waits.h"
#include "synchronizing_calls.h"
#include "used_launches.h"

namespace skewscope::ingest {
namespace {

std::vector<StepRange> steps_of(const std::vector<StepRow>& rows) {
  std::vector<StepRange> steps;
  for (const StepRow& row : rows) steps.push_back({row.number, row.start, std::max<int64_t>(row.duration_ns, 0)});
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepRange& a, const StepRange& b) { return a.start < b.start; });
  return steps;
}

// The memory, too.
template <class Row>
void give_back(std::vector<Row>& rows) {
  std::vector<Row>().swap(rows);
}

// What the reader made room for in vain.
template <class Row>
void give_back_spare(Column<Row>& rows) {
  if (rows.capacity() > 2 * rows.size()) rows.shrink_to_fit();
}

class Linker {
 public:
  // Takes the rows of `content`, whose launches are joined; `ambiguous`: so many GPU rows.
  Linker(FileContent& content, int64_t ambiguous) : content_(content) {
    linked_.trace.steps = steps_of(content.steps);
    report(content, Severity::warning, "reused-correlation", ambiguous,
           "GPU rows whose correlation id several earlier launches share; each is assigned to the latest");
  }

  // What is no longer asked is given back before more is made: these rows are most of the memory of a large trace.
  LinkedTrace link() {
    if (content_.details) linked_.detail = link_details(content_);
    tbb::parallel_invoke([&] { add_calls(); }, [&] { add_host_window(); },
                         [&] { orphans_ = launches_.choose(content_); });
    report_calls();
    records_.reset();
    phases_.reset();
    modules_.reset();
    give_back(content_.modules);
    give_back(content_.backward_ops);
    give_back(content_.pass_flows);
    content_.comm_args = {};
    give_back(content_.splits);
    give_back(content_.measured_waits);
    give_back(content_.comm_ops);
    give_back(content_.gpu.comm_kernels);
    launches_.keep_in(content_);
    for_each_column(content_.gpu.events, [](auto& column) { give_back_spare(column); });
    for_each_column(content_.launches.events, [](auto& column) { give_back_spare(column); });
    linked_.trace.gpu = std::move(content_.gpu.events);
    linked_.trace.synchronizing = synchronizing_calls(content_);
    give_back(content_.syncs);
    linked_.trace.launches = std::move(content_.launches.events);
    return std::move(linked_);
  }

 private:
  int64_t step_at(LocalNs t) const { return step_number_at(linked_.trace.steps, t); }

  void add_calls() {
    records_.emplace(content_);
    phases_.emplace(content_, linked_.trace.steps);
    modules_.emplace(content_);
    served_.resize(content_.comm_ops.size(), false);
    if (!content_.gpu.empty()) add_kernel_calls();
    const bool all_have_kernels = add_copied_calls();
    const std::vector<HostCall> on_host = host_calls(content_);
    // Next to a backend of the GPU they serve the program, not its step: objects that are gathered, a barrier.
    if (content_.gpu.empty() || (linked_.trace.calls.empty() && all_have_kernels)) {
      add_host_calls(on_host);
    } else {
      host_collectives_ = static_cast<int64_t>(on_host.size());
    }
    own_calls_ = join_own_devices(content_.gpu.events, linked_);
    sort_calls(linked_);
    count_uses(linked_);
  }

  // What is known of some communication kernels: found by several threads at once, taken in the order of the kernels.
  struct Block {
    size_t begin = 0, end = 0;
    std::vector<std::pair<CollectiveCall, CallMetadata>> calls;
  };

  void add_kernel_calls() {
    const std::vector<CommKernel>& kernels = content_.gpu.comm_kernels;
    linked_.trace.calls.reserve(kernels.size());
    linked_.open_calls.reserve(kernels.size());
    calls_of_records_.emplace(content_.comm_ops.size());
    if (records_->any_batch()) {
      for (const CommKernel& kernel : kernels) {
        if (const std::optional<LaunchRow> launch = launch_of(kernel)) records_->add_launch(*launch);
      }
    }
    constexpr size_t kBlock = 256;
    tbb::enumerable_thread_specific<MetadataFinder> finders([&] { return MetadataFinder(*records_); });
    size_t next = 0;
    const auto cut = [&](tbb::flow_control& control) -> Block {
      if (next == kernels.size()) control.stop();
      const size_t begin = next;
      next = std::min(begin + kBlock, kernels.size());
      return {begin, next, {}};
    };
    const auto find = [&](Block block) {
      MetadataFinder& finder = finders.local();
      block.calls.reserve(block.end - block.begin);
      for (size_t i = block.begin; i < block.end; ++i) block.calls.push_back(call_of(kernels[i], finder));
      return block;
    };
    const auto add = [&](const Block& block) {
      for (const auto& [call, told] : block.calls) {
        if (only_computes(call, told)) continue;
        serve(told);
        several_groups_ += told.several_groups ? 1 : 0;
        if (!continues_call(call, told)) add_call(call, told, thread_of(call));
      }
    };
    tbb::parallel_pipeline(2 * static_cast<size_t>(tbb::this_task_arena::max_concurrency()),
                           tbb::make_filter<void, Block>(tbb::filter_mode::serial_in_order, cut) &
                               tbb::make_filter<Block, Block>(tbb::filter_mode::parallel, find) &
                               tbb::make_filter<Block, void>(tbb::filter_mode::serial_in_order, add));
  }

  // A kernel of a collective's word that no table knows, launched outside of communication: its row computes.
  bool only_computes(const CollectiveCall& call, const CallMetadata& told) {
    if (!told.only_by_word || told.linked >= 0 || told.range >= 0 || told.op >= 0 || told.own_args >= 0) return false;
    const auto row = static_cast<size_t>(call.gpu_row);
    if (!call.launched || !content_.has_cpu_ops || launches_several(content_.gpu.events.launch[row])) {
      ++named_calls_;
      return false;
    }
    content_.gpu.events.work[row] = GpuWork::compute;
    ++computing_kernels_;
    return true;
  }

  // A graph: its launch tells nothing of what its kernels do.
  bool launches_several(int32_t launch) {
    if (launches_several_.empty()) launches_several_ = launches_of_several(content_);
    return launches_several_[static_cast<size_t>(launch)];
  }

  void serve(const CallMetadata& told) {
    if (told.kind == CollectiveKind::barrier && told.custom) return;  // around the copies of symmetric memory
    for (const int32_t op : {told.linked, told.record, told.range, told.op}) {
      if (op >= 0) served_[static_cast<size_t>(op)] = true;
    }
  }

  // Whether no other collective of the GPU lacks a kernel.
  bool add_copied_calls() {
    const CallsWithoutKernels found = calls_without_kernels(content_, served_);
    MetadataFinder finder(*records_);
    for (const CopiedCall& copied : found.copied) {
      const auto row = static_cast<size_t>(copied.first_row);
      const LaunchRow launch = content_.launches[static_cast<size_t>(content_.gpu.events.launch[row])];
      CollectiveCall call;
      call.start = copied.start;
      call.duration_ns = copied.end - copied.start;
      call.gpu_row = copied.first_row;
      call.stream = content_.gpu.events.stream[row];
      set_launch(launch, call);
      CallMetadata told = finder.of_host_range(content_.comm_ops[static_cast<size_t>(copied.op)]);
      told.waits = false;
      call.phase = phases_->of(call, launch.thread);
      add_call(call, told, launch.thread);
    }
    for (const int32_t copy : found.copies)
      content_.gpu.events.work[static_cast<size_t>(copy)] = GpuWork::communication;
    report_calls_without_kernels(found, content_);
    return found.lost.empty();
  }

  void report_calls() {
    const auto say = [&](FindingCode code, int64_t count, const char* message) {
      report(content_, Severity::info, code, count, message);
    };
    say("orphan-kernels", content_.calls_only ? 0 : orphans_,
        "GPU rows were launched before recording started; they are counted, but not in any step");
    say("host-collectives", host_collectives_,
        "gloo collectives ran on the CPU during GPU work; they are not among the calls");
    say("computing-by-launch", computing_kernels_,
        "kernels are named like a collective, but no communication operator launched them; they count as computing; "
        "list communicating kernels with --kernels");
    say("named-by-word", named_calls_, "kernels count as collectives by their name alone; --kernels can correct that");
    say("own-devices", own_calls_,
        "calls are collectives among the GPUs of one process: each waits for the last of these GPUs, no rank is "
        "missing");
    say("several-groups", several_groups_,
        "kernels send and receive in several groups at once; the trace does not show who waited for whom");
    say("several-kernels", continued_calls_,
        "kernels follow another one of the same operation; they count as one call, from the start of the first to the "
        "end of the last");
  }

  std::optional<LaunchRow> launch_of(const CommKernel& kernel) const {
    const int32_t launch = content_.gpu.events.launch[static_cast<size_t>(kernel.row)];
    return launch < 0 ? std::nullopt : std::optional(content_.launches[static_cast<size_t>(launch)]);
  }

  void set_launch(const LaunchRow& launch, CollectiveCall& call) const {
    call.step = step_at(launch.start);
    call.launched = true;
    call.launch_start = launch.start;
    call.launch_duration_ns = std::max<int64_t>(launch.duration_ns, 0);
  }

  std::pair<CollectiveCall, CallMetadata> call_of(const CommKernel& kernel, MetadataFinder& finder) const {
    const GpuRow row = content_.gpu.row_of(kernel);
    const std::optional<LaunchRow> launch = launch_of(kernel);
    CollectiveCall call;
    call.start = call.launch_start = row.start;
    call.duration_ns = row.duration_ns;
    call.gpu_row = kernel.row;
    call.stream = row.stream;
    if (launch) set_launch(*launch, call);
    CallMetadata told = finder.of_kernel(row, launch ? &*launch : nullptr);
    call.kind = told.kind;
    if (launch) call.phase = phases_->of(call, launch->thread);
    return {call, std::move(told)};
  }

  bool continues_call(const CollectiveCall& kernel, const CallMetadata& told) {
    if (told.record < 0) return false;
    const bool continues =
        calls_of_records_->join(told.record, kernel, content_.gpu.events.device, linked_.trace.calls);
    continued_calls_ += continues ? 1 : 0;
    return continues;
  }

  void add_host_calls(const std::vector<HostCall>& on_host) {
    MetadataFinder finder(*records_);
    for (const HostCall& own : on_host) {
      const CommOpRow& range = content_.comm_ops[static_cast<size_t>(own.range)];
      CollectiveCall call;
      call.start = call.launch_start = range.start;
      call.duration_ns = std::max<int64_t>(range.duration_ns, 0);
      call.step = step_at(range.start);
      add_call(call, finder.of_host_call(own), range.thread);
    }
  }

  // The thread of the host that launched it; none: -1, which runs no module.
  int64_t thread_of(const CollectiveCall& call) const {
    const int32_t launch = content_.gpu.events.launch[static_cast<size_t>(call.gpu_row)];
    return launch < 0 ? -1 : content_.launches.events.thread[static_cast<size_t>(launch)];
  }

  void add_call(CollectiveCall call, const CallMetadata& metadata, int64_t thread) {
    call.module = modules_->of(thread, call.launch_start, linked_.modules);
    call.kind = metadata.kind;
    call.dtype = metadata.dtype;
    call.source = metadata.source;
    call.custom = metadata.custom;
    call.waits = metadata.waits;
    call.in_elements = metadata.in_elements;
    call.out_elements = metadata.out_elements;
    call.seq = metadata.args.seq;
    call.comms_id = metadata.args.comms_id;
    call.measured_wait_ns = measured_wait_of(content_, metadata.own_args);
    call.algorithm = metadata.args.algorithm;
    call.protocol = metadata.args.protocol;
    OpenCall open;
    open.group = mentions_.row_of(metadata.args);
    if (open.group < 0 && metadata.kernel_ranks > 0) open.group = mentions_.only_group_of(metadata.kernel_ranks);
    if (has_root(call.kind)) open.root_in_group = metadata.args.rank;
    if (is_point_to_point(call.kind)) {
      call.peer = rank_from(metadata.args.peer);
      open.peer_in_group = metadata.args.rank >= 0 ? metadata.args.rank : metadata.peer_in_group;
    }
    for (BatchMessage message : metadata.messages) {
      message.call = static_cast<int32_t>(linked_.trace.calls.size());
      linked_.trace.messages.push_back(message);
    }
    linked_.open_peers.insert(linked_.open_peers.end(), metadata.peers_in_group.begin(), metadata.peers_in_group.end());
    if (call.kind == CollectiveKind::all_to_all) add_splits(metadata, call);
    linked_.trace.calls.push_back(call);
    linked_.open_calls.push_back(open);
    if (linked_.detail) add_call_details(metadata, content_.details->splits, linked_.detail->calls);
  }

  // The parts of the next call.
  void add_splits(const CallMetadata& metadata, const CollectiveCall& call) {
    const SplitLists lists = lists_of(content_.splits, metadata.own_args, metadata.op_args);
    for (SplitPart part : split_parts(lists, content_.strings, metadata.args.group_size, call)) {
      part.call = static_cast<int32_t>(linked_.trace.calls.size());
      linked_.trace.splits.push_back(part);
    }
  }

  void add_host_window() {
    const Window window = host_window(content_);
    linked_.first_host_row = window.first;
    linked_.last_host_row = window.last;
  }

  FileContent& content_;
  std::optional<CommRecords> records_;
  std::optional<CallPhases> phases_;
  std::optional<CallModules> modules_;
  UsedLaunches launches_;
  std::optional<CallsOfRecords> calls_of_records_;
  int64_t orphans_ = 0, host_collectives_ = 0, continued_calls_ = 0, several_groups_ = 0, named_calls_ = 0,
          computing_kernels_ = 0, own_calls_ = 0;
  std::vector<bool> served_;            // by row of comm_ops: a communication kernel was launched in it
  std::vector<bool> launches_several_;  // by row of launches; empty until it is asked
  LinkedTrace linked_;
  GroupMentions mentions_{content_, linked_.groups};
};

// What a tracer of calls placed itself: nothing but the calls remains.
LinkedTrace link_calls_only(FileContent content) {
  join_launches(content);
  LinkedTrace linked = Linker(content, 0).link();
  for (CollectiveCall& call : linked.trace.calls) call.gpu_row = call.stream = -1;
  linked.trace.gpu = GpuEvents();
  linked.trace.vendor = GpuVendor::other;
  take_over(content, linked);
  describe_rows(linked);
  return linked;
}

}  // namespace

LinkedTrace link_calls(FileContent content) {
  if (content.calls_only) return link_calls_only(std::move(content));
  fill_absent_arguments(content);
  tbb::parallel_invoke([&] { repair_gpu_rows(content); }, [&] { sort_launches(content); });
  const GpuVendor vendor = vendor_of(content);
  int64_t ambiguous = join_launches(content);
  if (bring_clocks_together(content)) ambiguous = join_launches(content);
  const bool left_out = leave_out_rows_apart(content);
  if (left_out) ambiguous = join_launches(content);
  join_by_neighbours(content);
  join_by_order(content);
  join_by_neighbours(content);  // of launches that were not taken
  if (!left_out) report_lost_kernels(content);
  cut_late_ends(content);
  Column<StreamWait> waits = stream_waits(content);
  content.gpu.correlation = {};
  content.launches.correlation = {};
  content.launches.role = {};
  LinkedTrace linked = Linker(content, ambiguous).link();
  linked.trace.stream_waits = std::move(waits);
  linked.trace.vendor = vendor;
  take_over(content, linked);
  describe_rows(linked);
  return linked;
}

}  // namespace skewscope::ingest
