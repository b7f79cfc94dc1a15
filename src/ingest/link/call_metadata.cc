// Problem: since 2020 the metadata of a collective has moved from nowhere, to the CPU op, to the kernel's own
// arguments, and single fields (the root, start and stride) are on the CPU op only. Idea: take the best record that
// tells the operation, then fill each field it lacks from the next ones. The op over a kernel is found by External id,
// or by which range of the launching thread contains the start of the launch. Batches of operations are read in
// batched_calls.cc. Sources: KINETO.md, sections 4 to 6; PyTorch ParamCommsUtils, issue #194693; libkineto
// output_json.cpp. Cost: O(log ranges) per call.
#include "call_metadata.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "collectives/kernel_names.h"
#include "skewscope/base/first_after.h"

namespace skewscope::ingest {
namespace {

template <class T>
void fill(T& field, T absent, T other) {
  if (field == absent) field = other;
}

void fill_absent(CommArgs& args, const CommArgs& other) {
  fill(args.collective_name, StringId(), other.collective_name);
  fill(args.dtype, StringId(), other.dtype);
  fill(args.group_name, StringId(), other.group_name);
  fill(args.group_description, StringId(), other.group_description);
  fill(args.group_ranks, StringId(), other.group_ranks);
  for (int64_t CommArgs::*field : std::initializer_list<int64_t CommArgs::*>{
           &CommArgs::in_elements, &CommArgs::out_elements, &CommArgs::group_size, &CommArgs::rank,
           &CommArgs::rank_start, &CommArgs::rank_stride, &CommArgs::peer, &CommArgs::seq}) {
    fill<int64_t>(args.*field, -1, other.*field);
  }
  fill<uint64_t>(args.comms_id, 0, other.comms_id);
}

// "nccl:send 0->1" names both ends inside the group, the own one first: the other one.
int64_t peer_in_annotation(std::string_view name) {
  size_t arrow = name.find("->");
  if (arrow == std::string_view::npos) arrow = name.find("<-");
  if (arrow == std::string_view::npos) return -1;
  int64_t peer = -1;
  std::from_chars(name.data() + arrow + 2, name.data() + name.size(), peer);
  return peer;
}

// PyTorch makes an all-gather of unequal parts of broadcasts, and such a reduce-scatter of reductions: each member
// records a multiple of its own part, and nobody the whole.
bool is_of_unequal_parts(CollectiveKind told, CollectiveKind made_of) {
  return (told == CollectiveKind::all_gather && made_of == CollectiveKind::broadcast) ||
         (told == CollectiveKind::reduce_scatter && made_of == CollectiveKind::reduce);
}

bool may_be_batch(CollectiveKind told, const KernelNature& kernel) {
  return kernel.communicates && !kernel.custom && kernel.kind == CollectiveKind::unknown &&
         (told == CollectiveKind::coalesced || told == CollectiveKind::send || told == CollectiveKind::recv);
}

CallMetadata in_range(CallMetadata call, int32_t range) {
  call.range = range;
  return call;
}

}  // namespace

MetadataFinder::MetadataFinder(const CommRecords& records)
    : records_(records),
      content_(records.content_),
      operations_(content_.strings, kind_from_operation_name),
      annotations_(content_.strings, kind_from_annotation),
      natures_(content_.strings.size()) {}

const KernelNature& MetadataFinder::nature_of(StringId kernel) {
  std::optional<KernelNature>& known = natures_[kernel.index()];
  if (!known) known = content_.kernels->nature_of(name(kernel));
  return *known;
}

const CommOperation& MetadataFinder::operation_of(int32_t args) const {
  return content_.comm_args.operation_of(static_cast<size_t>(args));
}

// Not rows without arguments, and no operations that are none: "wait", "init".
bool MetadataFinder::is_useful(int32_t args) {
  if (args < 0) return false;
  const CommOperation& operation = operation_of(args);
  return operation.any() && operations_.of(operation.collective_name);
}

// The first in the file; -1: none.
int32_t MetadataFinder::row_of_external_id(int64_t id) {
  if (id <= 0) return -1;
  const std::vector<int32_t>& rows = records_.by_external_id_;
  near_external_id_ = first_after(rows, id - 1, near_external_id_,
                                  [&](int64_t value, int32_t row) { return value < records_.external_id_of(row); });
  const bool found = near_external_id_ < rows.size() && records_.external_id_of(rows[near_external_id_]) == id;
  return found ? rows[near_external_id_] : -1;
}

const CommOpRow* MetadataFinder::linked_op(Role role, const GpuRow& row, const LaunchRow* launch) {
  const auto fits = [&](int32_t i) {
    const CommOpRow& op = content_.comm_ops[static_cast<size_t>(i)];
    // A record without arguments is one of an old build; one with arguments that name no operation is a wait.
    return op.args < 0 || !operation_of(op.args).any() || is_useful(op.args);
  };
  const int32_t by_id = row_of_external_id(row.external_id);
  if (by_id >= 0 && records_.roles_[static_cast<size_t>(by_id)] == role && fits(by_id))
    return &content_.comm_ops[static_cast<size_t>(by_id)];
  const int32_t over =
      launch == nullptr ? -1 : records_.open(role).innermost(launch->thread, launch->start, near(role), fits);
  return over < 0 ? nullptr : &content_.comm_ops[static_cast<size_t>(over)];
}

const GpuAnnotationRow* MetadataFinder::gpu_range_over(const GpuRow& row) {
  const LocalNs end = row.start + row.duration_ns;
  const auto fits = [&](int32_t i) {
    const GpuAnnotationRow& range = content_.gpu_annotations[static_cast<size_t>(i)];
    return range.start + range.duration_ns + content_.resolution_ns >= end && annotations_.of(range.name);
  };
  const int32_t over =
      records_.gpu_ranges_.innermost(track_of(row.device, row.stream), row.start, near_gpu_range_, fits);
  return over < 0 ? nullptr : &content_.gpu_annotations[static_cast<size_t>(over)];
}

// `own_row`: of comm_args; -1: the kernel has none.
void MetadataFinder::take_args(int32_t own_row, const CommOpRow* op, CallMetadata& call) {
  const bool own = is_useful(own_row);
  const bool of_op = op != nullptr && is_useful(op->args) &&
                     (!own || operation_of(op->args).collective_name == operation_of(own_row).collective_name);
  if (!own && !of_op) return;
  if (own) call.own_args = own_row;
  if (of_op) call.op_args = op->args;
  call.args = content_.comm_args[static_cast<size_t>(own ? own_row : op->args)];
  call.source = own ? MetadataSource::kernel_args : MetadataSource::record_param_comms;
  if (own && of_op) fill_absent(call.args, content_.comm_args[static_cast<size_t>(op->args)]);
  call.kind = operations_.of(call.args.collective_name).value_or(CollectiveKind::unknown);
  call.dtype = dtype_from_name(name(call.args.dtype));
  call.in_elements = call.args.in_elements;
  call.out_elements = call.args.out_elements;
  if (own) take_messages(own_row, call);
}

// Of a call with several peers, in its own arguments.
void MetadataFinder::take_messages(int32_t own_row, CallMetadata& call) const {
  const auto [begin, end] =
      std::equal_range(content_.messages.begin(), content_.messages.end(), PeerMessage{own_row},
                       [](const PeerMessage& a, const PeerMessage& b) { return a.args < b.args; });
  for (auto message = begin; message != end; ++message) {
    call.messages.push_back({-1, message->sends, rank_from(message->peer), call.dtype, message->elements});
    call.peers_in_group.push_back(-1);
  }
  if (begin != end) call.kind = CollectiveKind::coalesced;
}

void MetadataFinder::take_range(StringId range_name, CallMetadata& call) {
  const CollectiveKind kind = annotations_.of(range_name).value_or(CollectiveKind::unknown);
  if (call.kind == CollectiveKind::unknown) {
    call.kind = kind;
    if (!call.args.any()) call.source = MetadataSource::annotation;
  }
  if (call.kind == kind) call.peer_in_group = peer_in_annotation(name(range_name));
}

// The dims of a range or op are those of its first tensor: no size for a group of operations.
void MetadataFinder::take_shape(const CommOpRow& op, CallMetadata& call) const {
  if (call.kind == CollectiveKind::coalesced) return;
  if (call.in_elements < 0) call.in_elements = op.input_elements;
  if (call.dtype == DType::unknown) call.dtype = dtype_from_name(name(op.input_type));
}

// What goes in and comes out, where neither record nor range tells both.
void MetadataFinder::take_sizes(const LaunchRow& launch, CallMetadata& call) {
  const bool scatters = call.kind == CollectiveKind::reduce_scatter, gathers = call.kind == CollectiveKind::all_gather;
  if ((!scatters && !gathers) || (call.in_elements >= 0 && call.out_elements >= 0)) return;
  const int32_t over =
      records_.open(Role::sized).innermost(launch.thread, launch.start, near(Role::sized), [](int32_t) {
        return true;
      });
  if (over < 0) return;
  const CommOpRow& op = content_.comm_ops[static_cast<size_t>(over)];
  if (op.input_elements < 0 || op.other_elements < 0) return;
  call.out_elements = op.input_elements;
  call.in_elements = op.other_elements;
}

// XCCL closed its record before it launched, until autumn 2026 (torch-xpu-ops): the last one before `range` on its
// thread, where it is of the same operation and no other range began between the two.
const CommOpRow* MetadataFinder::record_closed_before(int32_t range) {
  const auto op_of = [&](int32_t i) -> const CommOpRow& { return content_.comm_ops[static_cast<size_t>(i)]; };
  const CommOpRow& over = op_of(range);
  const CommOpRow* record = nullptr;
  records_.open(Role::record).back_from(over.thread, over.start, near(Role::record), [&](int32_t i) {
    if (is_useful(op_of(i).args)) record = &op_of(i);
    return record == nullptr;
  });
  if (record == nullptr) return nullptr;
  bool between = false;
  records_.open(Role::range).back_from(over.thread, over.start, near(Role::range), [&](int32_t i) {
    between = i != range && op_of(i).start >= record->start;
    return i == range;
  });
  const NameKinds::Kind kind = operations_.of(operation_of(record->args).collective_name);
  return !between && kind == annotations_.of(over.name) ? record : nullptr;
}

CallMetadata MetadataFinder::of_kernel(const GpuRow& row, const LaunchRow* launch) {
  CallMetadata call;
  const KernelNature& kernel = nature_of(row.name);
  call.custom = kernel.custom;
  call.waits = kernel.waits;
  call.only_by_word = kernel.only_by_word;
  if (call.custom) call.kernel_ranks = ranks_of_kernel(name(row.name));
  const auto any = [](int32_t) { return true; };
  const int32_t over =
      launch == nullptr ? -1
                        : records_.open(Role::range).innermost(launch->thread, launch->start, near(Role::range), any);
  call.range = over;
  const CommOpRow* record = linked_op(Role::record, row, launch);
  const bool closed = record == nullptr && over >= 0 && row.args < 0;
  if (closed) record = record_closed_before(over);
  take_args(row.args, record, call);
  call.linked = row_of(record);
  const bool of_record = record != nullptr && (call.own_args < 0 || call.op_args >= 0);
  if (of_record && launch != nullptr && (closed || launched_in(*launch, *record))) call.record = row_of(record);
  // oneCCL runs one operation as several kernels.
  if (call.record < 0 && over >= 0 && name(row.name).starts_with("oneccl")) call.record = over;

  if (over >= 0) {
    const CommOpRow& range = content_.comm_ops[static_cast<size_t>(over)];
    take_range(range.name, call);
    take_shape(range, call);
    // Ranges may end late: only their first launch is the batch's.
    const bool batched = call.record < 0 && annotations_.of(range.name) == CollectiveKind::coalesced &&
                         records_.first_launch_.at(over) == launch->start;
    if (batched && may_be_batch(call.kind, kernel)) {
      if (const std::optional<CallMetadata>& batch = batch_of(over)) return in_range(*batch, over);
    } else if (batched && kernel.communicates && !call.custom && !call.args.any()) {
      if (const std::optional<CallMetadata>& together = coalesced_of(over, kernel.kind))
        return in_range(*together, over);
    }
  } else if (const GpuAnnotationRow* range = gpu_range_over(row)) {
    take_range(range->name, call);
  }
  if (call.kind == CollectiveKind::unknown) call.kind = kernel.kind;
  if (record != nullptr) take_shape(*record, call);
  if (launch != nullptr) take_sizes(*launch, call);
  if (is_of_unequal_parts(call.kind, kernel.kind)) call.in_elements = call.out_elements = -1;
  if (call.custom || (record == nullptr && over < 0)) {
    if (const CommOpRow* op = linked_op(Role::custom, row, launch)) {
      take_shape(*op, call);
      call.op = row_of(op);
    }
  }
  return call;
}

CallMetadata MetadataFinder::of_host_range(const CommOpRow& range) {
  const auto is_record = [&](int32_t i) { return is_useful(content_.comm_ops[static_cast<size_t>(i)].args); };
  const RangeIndex<CommOpRow>& records = records_.open(Role::record);
  int32_t record = records.innermost(range.thread, range.start, near(Role::record), is_record);
  if (record < 0) {
    record = records.first_started_in(range.thread, range.start, range.start + range.duration_ns, near(Role::record),
                                      is_record);
  }
  CallMetadata call;
  take_args(-1, record < 0 ? nullptr : &content_.comm_ops[static_cast<size_t>(record)], call);
  take_range(range.name, call);
  take_shape(range, call);
  return call;
}

CallMetadata MetadataFinder::of_host_call(const HostCall& own) {
  const CommOpRow& range = content_.comm_ops[static_cast<size_t>(own.range)];
  CallMetadata call = of_host_range(range);
  if (own.record < 0 || call.op_args >= 0) return call;
  call = CallMetadata();
  take_args(-1, &content_.comm_ops[static_cast<size_t>(own.record)], call);
  if (!own.own) {
    const CommOperation operation = call.args;
    call.args = CommArgs{operation, -1, -1, -1, 0};
    call.args.rank = call.args.peer = -1;
    call.in_elements = call.out_elements = -1;
  }
  take_range(range.name, call);
  take_shape(range, call);
  return call;
}

}  // namespace skewscope::ingest
