// Problem: since 2020 the metadata of a collective has moved from nowhere, to the CPU op, to the kernel's own
// arguments, and single fields (the root, start and stride) stand on the CPU op only. Idea: take the best record that
// tells the operation, then fill each field it lacks from the next ones. The op over a kernel is found by External id,
// or by which range of the launching thread contains the start of the launch. A batch of sends and receives is launched
// when all are recorded, in a range of its own (PyTorch's endCoalescing): its records are those since the last batch
// within which no kernel was launched. With one peer they are one operation; with several, a message for each peer and
// direction. Collectives of one kind that a coalescing manager launches as one are one operation, too. Sources:
// KINETO.md, sections 4 to 6; PyTorch ParamCommsUtils, issue #194693; libkineto output_json.cpp.
// Cost: O(log ranges) per call.
#include "call_metadata.h"

#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "collectives/kernel_names.h"
#include "skewscope/base/first_after.h"
#include "skewscope/base/sort_runs.h"
#include "src/ingest/content/row_names.h"

namespace skewscope::ingest {
namespace {

constexpr std::string_view kRecordOp = "record_param_comms";

bool launched_in(const LaunchRow& launch, const CommOpRow& op) {
  return launch.thread == op.thread && op.start <= launch.start && launch.start < op.start + op.duration_ns;
}

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

// -1 where one is absent, or the sum has no room.
void add_elements(int64_t elements, int64_t& sum) {
  sum = sum < 0 || elements < 0 || sum > INT64_MAX - elements ? -1 : sum + elements;
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

NameKinds::Kind NameKinds::of(StringId name) {
  if (!name.known()) return kind_of_({});
  std::optional<Kind>& told = told_[name.index()];
  if (!told) told = kind_of_(names_.view(name));
  return *told;
}

CommRecords::CommRecords(const FileContent& content) : content_(content) {
  NameKinds annotations(content.strings, kind_from_annotation);
  roles_.reserve(content.comm_ops.size());
  std::array<std::vector<int32_t>, kRoles> of_role;
  for (size_t i = 0; i < content.comm_ops.size(); ++i) {
    const CommOpRow& op = content.comm_ops[i];
    const auto row = static_cast<int32_t>(i);
    const NameKinds::Kind annotation = annotations.of(op.name);
    const Role role = role_of(content.strings.view(op.name), annotation);
    any_batch_ |= role == Role::range && annotation == CollectiveKind::coalesced;
    roles_.push_back(role);
    if (role == Role::other) continue;
    of_role[static_cast<size_t>(role)].push_back(row);
    const bool may_be = role == Role::record || role == Role::custom;
    const bool linkable = content.gpu.external_ids_tell && may_be && op.external_id > 0;
    if (linkable) by_external_id_.push_back(row);
  }
  std::vector<int32_t> gpu_ranges(content.gpu_annotations.size());
  std::iota(gpu_ranges.begin(), gpu_ranges.end(), 0);
  tbb::parallel_invoke(
      [&] { gpu_ranges_ = RangeIndex(content.gpu_annotations, std::move(gpu_ranges)); },
      [&] {
        for (size_t role = 0; role < kRoles; ++role) {
          open_[role] = RangeIndex(content.comm_ops, std::move(of_role[role]));
        }
      },
      [&] { sort_runs(by_external_id_, [&](int32_t a, int32_t b) { return external_id_of(a) < external_id_of(b); }); });
}

CommRecords::Role CommRecords::role_of(std::string_view name, std::optional<CollectiveKind> annotation) {
  if (name == kRecordOp) return Role::record;
  if (annotation) return Role::range;
  if (is_sized_op(name)) return Role::sized;
  return is_collective_range(name) ? Role::other : Role::custom;
}

void CommRecords::add_launch(const LaunchRow& launch) {
  launched_.resize(roles_.size(), false);
  const auto near = [&](Role role) -> size_t& { return near_launch_[static_cast<size_t>(role)]; };
  const int32_t over = open(Role::record).innermost(launch.thread, launch.start, near(Role::record), [&](int32_t i) {
    return launched_in(launch, content_.comm_ops[static_cast<size_t>(i)]);
  });
  if (over >= 0) launched_[static_cast<size_t>(over)] = true;
  const int32_t range =
      open(Role::range).innermost(launch.thread, launch.start, near(Role::range), [](int32_t) { return true; });
  if (range < 0) return;
  const auto [first, added] = first_launch_.try_emplace(range, launch.start);
  if (!added) first->second = std::min(first->second, launch.start);
}

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
}

void MetadataFinder::take_range(StringId range_name, CallMetadata& call) {
  const CollectiveKind kind = annotations_.of(range_name).value_or(CollectiveKind::unknown);
  if (call.kind == CollectiveKind::unknown) {
    call.kind = kind;
    if (!call.args.any()) call.source = MetadataSource::annotation;
  }
  if (call.kind == kind) call.peer_in_group = peer_in_annotation(name(range_name));
}

// The records in front of `range`, on its thread and since the last batch, in which nothing was launched: the last one
// first, as long as `takes` their operation.
template <class Takes>
std::vector<int32_t> MetadataFinder::records_before(int32_t range, const Takes& takes) {
  const auto op_of = [&](int32_t i) -> const CommOpRow& { return content_.comm_ops[static_cast<size_t>(i)]; };
  const CommOpRow& batch = op_of(range);
  int32_t before = -1;  // the range of the last batch
  records_.open(Role::range).back_from(batch.thread, batch.start, near(Role::range), [&](int32_t i) {
    if (i != range && annotations_.of(op_of(i).name) == CollectiveKind::coalesced) before = i;
    return before < 0;
  });
  std::vector<int32_t> records;
  records_.open(Role::record).back_from(batch.thread, batch.start, near(Role::record), [&](int32_t i) {
    if (before >= 0 && op_of(i).start <= op_of(before).start) return false;
    if (!is_useful(op_of(i).args)) return true;
    const NameKinds::Kind kind = operations_.of(operation_of(op_of(i).args).collective_name);
    if (!takes(kind) || records_.launched_[static_cast<size_t>(i)]) return false;
    records.push_back(i);
    return true;
  });
  return records;
}

// What the sends and receives tell that a launch in `range` carries out; nullopt: there are none.
const std::optional<CallMetadata>& MetadataFinder::batch_of(int32_t range) {
  const auto [known, added] = batches_.try_emplace({range, CollectiveKind::coalesced});
  if (!added) return known->second;
  const std::vector<int32_t> records = records_before(
      range, [](NameKinds::Kind kind) { return kind == CollectiveKind::send || kind == CollectiveKind::recv; });
  const bool told = !records.empty() && std::none_of(records.begin(), records.end(), [&](int32_t i) {
    const CommOperation& operation = operation_of(content_.comm_ops[static_cast<size_t>(i)].args);
    return operation.peer < 0 && operation.rank < 0;
  });
  if (told) known->second = told_together(records);
  return known->second;
}

// What the collectives of one kind tell that a launch in `range` carries out as one (a coalescing manager); nullopt:
// there are none, or several groups' or types'.
const std::optional<CallMetadata>& MetadataFinder::coalesced_of(int32_t range, CollectiveKind kind) {
  const auto [known, added] = batches_.try_emplace({range, kind});
  if (!added) return known->second;
  const std::vector<int32_t> records = records_before(range, [&](NameKinds::Kind told) { return told == kind; });
  if (records.empty()) return known->second;
  const auto args_of = [&](int32_t i) {
    return content_.comm_args[static_cast<size_t>(content_.comm_ops[static_cast<size_t>(i)].args)];
  };
  CallMetadata call;
  call.args = args_of(records.back());
  call.args.in_elements = call.args.out_elements = 0;
  for (const int32_t i : records) {
    const CommArgs one = args_of(i);
    const bool alike = one.group_name == call.args.group_name && one.group_ranks == call.args.group_ranks &&
                       one.dtype == call.args.dtype;
    if (!alike) return known->second;
    if (one.rank != call.args.rank) call.args.rank = -1;  // of several roots none is the one
    add_elements(one.in_elements, call.args.in_elements);
    add_elements(one.out_elements, call.args.out_elements);
  }
  call.kind = kind;
  call.source = MetadataSource::record_param_comms;
  call.dtype = dtype_from_name(name(call.args.dtype));
  call.in_elements = call.args.in_elements;
  call.out_elements = call.args.out_elements;
  call.record = records.back();
  return known->second = call;
}

CallMetadata MetadataFinder::told_together(const std::vector<int32_t>& records) {
  CallMetadata call;
  call.kind = CollectiveKind::coalesced;
  call.source = MetadataSource::annotation;
  const auto args_of = [&](int32_t i) {
    return content_.comm_args[static_cast<size_t>(content_.comm_ops[static_cast<size_t>(i)].args)];
  };
  const CommArgs first = args_of(records.back());
  CallMetadata batch = call;
  std::map<std::tuple<bool, Rank, int64_t>, size_t>
      known;  // number of a message, by direction, peer, its rank in the group
  for (const int32_t i : records) {
    const CommArgs one = args_of(i);
    call.several_groups = one.group_name != first.group_name || one.group_ranks != first.group_ranks;
    if (call.several_groups) return call;
    const bool sends_it = operations_.of(one.collective_name) == CollectiveKind::send;
    const Rank peer = rank_from(one.peer);
    const DType dtype = dtype_from_name(name(one.dtype));
    const int64_t elements = std::max(one.in_elements, one.out_elements);
    const auto [at, fresh] =
        known.emplace(std::tuple(sends_it, peer, peer.known() ? -1 : one.rank), batch.messages.size());
    if (fresh) {
      batch.messages.push_back({-1, sends_it, peer, dtype, elements});
      batch.peers_in_group.push_back(one.rank);
      continue;
    }
    BatchMessage& message = batch.messages[at->second];
    add_elements(elements, message.elements);
    if (message.dtype != dtype) message.dtype = DType::unknown;
  }
  const auto of_one_peer = [&](const BatchMessage& m) {
    const auto i = static_cast<size_t>(&m - batch.messages.data());
    return m.peer == batch.messages[0].peer && (m.peer.known() || batch.peers_in_group[i] == batch.peers_in_group[0]);
  };
  const bool one_peer = std::all_of(batch.messages.begin(), batch.messages.end(), of_one_peer);
  int64_t sent = 0, received = 0;
  bool sends = false, receives = false;
  call.dtype = batch.messages[0].dtype;
  for (const BatchMessage& message : batch.messages) {
    (message.sends ? sends : receives) = true;
    add_elements(message.elements, message.sends ? sent : received);
    if (message.dtype != call.dtype) call.dtype = DType::unknown;
  }
  call.args = first;
  if (call.dtype == DType::unknown) call.args.dtype = StringId();
  if (one_peer) {
    call.kind = !receives ? CollectiveKind::send : !sends ? CollectiveKind::recv : CollectiveKind::send_recv;
  } else {
    call.messages = std::move(batch.messages);
    call.peers_in_group = std::move(batch.peers_in_group);
  }
  call.source = MetadataSource::record_param_comms;
  call.args.in_elements = call.in_elements = sends ? sent : received;
  call.args.out_elements = call.out_elements = receives ? received : sent;
  call.record = records.back();
  return call;
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
