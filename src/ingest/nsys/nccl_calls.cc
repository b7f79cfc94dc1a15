// Problem: what a call of NCCL is (operation, communicator, size, peer) stands in a range of the host, and its kernel
// is launched in that range, or, for a group, in the ncclGroupEnd behind several of them. Idea: each call becomes a
// record over all in which its kernel can have been launched: its own range, or the whole of the group that holds it
// alone. The calls of a group that are one operation are one record: collectives of one kind in one communicator, sends
// and receives to and from everybody (an all-to-all). Other sends and receives stay records, in front of a range that
// launches them as one, as PyTorch writes a batch (link/batched_calls.cc).
// Cost: one sort.
#include "nccl_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

namespace skewscope::ingest {
namespace {

const char* pytorch_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "allreduce";
    case CollectiveKind::all_gather:
      return "_allgather_base";
    case CollectiveKind::reduce_scatter:
      return "_reduce_scatter_base";
    case CollectiveKind::all_to_all:
      return "all_to_allv";
    case CollectiveKind::unknown:
      return "";
    default:
      return to_string(kind);
  }
}

constexpr int64_t kMostParts = 4096;
constexpr uint64_t kFnvPrime = 0x100000001b3;

bool sends_one_way(CollectiveKind kind) { return kind == CollectiveKind::send || kind == CollectiveKind::recv; }

// -1 where one is not known, or there is no room for it.
int64_t times(int64_t bytes, int64_t ranks) {
  return bytes < 0 || ranks < 1 || bytes > INT64_MAX / ranks ? -1 : bytes * ranks;
}

int64_t plus(int64_t sum, int64_t bytes) { return sum < 0 || bytes < 0 || sum > INT64_MAX - bytes ? -1 : sum + bytes; }

}  // namespace

CommOpRow host_range(LocalNs start, int64_t duration_ns, int64_t thread, StringId name, int32_t args) {
  CommOpRow row;
  row.start = start;
  row.duration_ns = duration_ns;
  row.thread = thread;
  row.name = name;
  row.args = args;
  return row;
}

void NcclRanges::add(const NcclRange& range) {
  const NcclPayload& payload = range.payload;
  if (payload.communicator != 0 && payload.ranks > 0 && payload.rank >= 0 && payload.rank < payload.ranks) {
    const Communicator told{payload.ranks, payload.rank};
    communicators_.emplace(payload.communicator, told);
    if (told.ranks > largest_.ranks) largest_ = told;
  }
  any_payload_ = any_payload_ || payload.any();
  if (range.what != NcclRange::What::other) ranges_.push_back(range);
}

void NcclRanges::make_records(RowCollector& rows) {
  std::sort(ranges_.begin(), ranges_.end(), [](const NcclRange& a, const NcclRange& b) {
    return std::tie(a.thread, a.start, b.duration_ns) < std::tie(b.thread, b.start, a.duration_ns);
  });
  std::sort(launches_.begin(), launches_.end(), [](const TypedLaunch& a, const TypedLaunch& b) {
    return std::tie(a.thread, a.start) < std::tie(b.thread, b.start);
  });
  for (size_t begin = 0, end = 0; begin < ranges_.size(); begin = end) {
    while (end < ranges_.size() && ranges_[end].thread == ranges_[begin].thread) ++end;
    make_records_of_thread(begin, end, rows);
  }
  ranges_ = {};
  launches_ = {};
  // An all-to-all sends to every member; to fewer where parts are empty, and then the numbers differ.
  if (members_of_groups_.size() != 1) return;
  CommArgs args = args_of(CollectiveKind::all_to_all, {}, {}, rows);
  args.group_size = members_of_groups_.begin()->first;
  rows.add(args);  // of no call: it says how large the world is at least
}

int64_t NcclRanges::tell_orphans(FileContent& content) const {
  constexpr int64_t kEnough = 5;
  if (kinds_.size() != 1 || kinds_.begin()->second < kEnough || kinds_.begin()->first == CollectiveKind::coalesced)
    return 0;
  const auto correlation_of = [&](const CommKernel& kernel) {
    return content.gpu.correlation[static_cast<size_t>(kernel.row)];
  };
  std::unordered_map<int64_t, bool> launched;  // by correlation of the kernels of collectives
  for (const CommKernel& kernel : content.gpu.comm_kernels) launched[correlation_of(kernel)] = false;
  for (size_t i = 0; i < content.launches.size(); ++i) {
    const auto kernel = launched.find(content.launches.correlation[i]);
    if (kernel != launched.end()) kernel->second = true;
  }
  const auto has_launch = [&](const CommKernel& kernel) { return launched.at(correlation_of(kernel)); };
  const auto name_of = [&](const CommKernel& kernel) {
    return content.gpu.events.name[static_cast<size_t>(kernel.row)];
  };
  std::set<StringId> names;
  for (const CommKernel& kernel : content.gpu.comm_kernels) {
    if (has_launch(kernel)) names.insert(name_of(kernel));
  }
  CommArgs args;
  args.collective_name = content.strings.intern(pytorch_name(kinds_.begin()->first));
  int64_t told = 0;
  for (CommKernel& kernel : content.gpu.comm_kernels) {
    if (kernel.args >= 0 || names.size() != 1 || has_launch(kernel) || name_of(kernel) != *names.begin()) continue;
    kernel.args = static_cast<int32_t>(content.comm_args.size());
    content.comm_args.push_back(args);
    if (content.details) content.details->splits.push_back({});
    ++told;
  }
  return told;
}

void NcclRanges::make_records_of_thread(size_t begin, size_t end, RowCollector& rows) {
  Group group;
  const NcclRange* annotation = nullptr;  // the last one that began
  for (size_t i = begin; i < end; ++i) {
    const NcclRange& range = ranges_[i];
    switch (range.what) {
      case NcclRange::What::annotation:
        annotation = &range;
        ++kinds_[range.kind];
        if (range.kind == CollectiveKind::coalesced) break;  // the group in it tells more
        rows.content().comm_ops.push_back(host_range(range.start, range.duration_ns, range.thread, range.name));
        break;
      case NcclRange::What::group_start:
        if (group.depth++ == 0) group.start = range.start;
        break;
      case NcclRange::What::group_end: {
        if (group.depth == 0 || --group.depth > 0) break;  // its start was not recorded
        const bool over = annotation != nullptr && annotation->end() >= range.end() && annotation->start <= group.start;
        close_group(group, range, over ? annotation->kind : CollectiveKind::unknown, rows);
        group = Group();
        break;
      }
      case NcclRange::What::call:
        if (range.name.known()) {
          add_xla_operation(range, rows);
        } else if (group.depth > 0) {
          group.calls.push_back(&range);
        } else {
          add_record(range.kind, range.payload, range.start, range.end(), range.thread, rows);
        }
        break;
      case NcclRange::What::other:
        break;
    }
  }
}

// XLA runs one program on all ranks: the k-th execution of an operation is the same collective on all that are in it.
// Which these are stands in the program, which the file does not hold: all that run it count, and ends that do not
// agree refute that.
void NcclRanges::add_xla_operation(const NcclRange& range, RowCollector& rows) {
  CommArgs args = args_of(range.kind, {}, {}, rows);
  args.group_name = rows.intern("XLA");
  uint64_t key = 0xcbf29ce484222325;  // FNV-1a of name and number
  for (const char c : rows.content().strings.view(range.name)) key = (key ^ static_cast<unsigned char>(c)) * kFnvPrime;
  key = (key ^ static_cast<uint64_t>(executions_[range.name]++)) * kFnvPrime;
  args.comms_id = key == 0 ? 1 : key;
  const int32_t row = rows.add(args);
  rows.content().comm_ops.push_back(
      host_range(range.start, range.duration_ns, range.thread, rows.intern("record_param_comms"), row));
}

void NcclRanges::close_group(const Group& group, const NcclRange& group_end, CollectiveKind annotated,
                             RowCollector& rows) {
  const Calls& calls = group.calls;
  if (calls.empty()) return;
  const NcclRange& first = *calls.front();
  const bool alike = std::all_of(calls.begin(), calls.end(), [&](const NcclRange* call) {
    return call->payload.communicator == first.payload.communicator;
  });
  const bool messages =
      std::all_of(calls.begin(), calls.end(), [](const NcclRange* call) { return sends_one_way(call->kind); });
  const bool one_kind =
      std::all_of(calls.begin(), calls.end(), [&](const NcclRange* call) { return call->kind == first.kind; });
  const auto add = [&](CollectiveKind kind, const NcclPayload& payload) {
    add_record(kind, payload, group.start, group_end.end(), group_end.thread, rows);
  };
  if (calls.size() == 1) return add(first.kind, first.payload);
  if (!alike) return;  // several kernels: which is whose, nothing tells
  if (!messages) {
    if (!one_kind) return;
    NcclPayload all = first.payload;
    for (size_t i = 1; i < calls.size(); ++i) all.bytes = plus(all.bytes, calls[i]->payload.bytes);
    return add(first.kind, all);
  }
  if (first.payload.communicator == 0) {
    const auto sends = std::count_if(calls.begin(), calls.end(),
                                     [](const NcclRange* call) { return call->kind == CollectiveKind::send; });
    if (annotated == CollectiveKind::all_to_all && 2 * sends == std::ssize(calls)) ++members_of_groups_[sends];
    return;
  }
  const bool annotated_operation = annotated != CollectiveKind::unknown && annotated != CollectiveKind::coalesced &&
                                   !sends_one_way(annotated) && annotated != CollectiveKind::send_recv;
  if (!annotated_operation && !goes_to_all(calls)) return add_messages(group, group_end, rows);
  int64_t sent = 0, received = 0;
  for (const NcclRange* call : calls) {
    int64_t& sum = call->kind == CollectiveKind::send ? sent : received;
    sum = plus(sum, call->payload.bytes);
  }
  const CollectiveKind kind = annotated_operation ? annotated : CollectiveKind::all_to_all;
  CommArgs args = args_of(kind, first.payload, {}, rows);
  args.in_elements = sent;
  args.out_elements = received;
  args.rank = -1;
  const int32_t row = rows.add(args);
  if (kind == CollectiveKind::all_to_all) add_parts(calls, args.group_size, row, rows);
  rows.content().comm_ops.push_back(
      host_range(group.start, group_end.end() - group.start, group_end.thread, rows.intern("record_param_comms"), row));
}

// Sends to all members, and receives from all.
bool NcclRanges::goes_to_all(const Calls& calls) const {
  const auto known = communicators_.find(calls.front()->payload.communicator);
  if (known == communicators_.end()) return false;
  std::set<int64_t> to, from;
  for (const NcclRange* call : calls) (call->kind == CollectiveKind::send ? to : from).insert(call->payload.peer);
  const int64_t ranks = known->second.ranks;
  const auto all = [&](std::set<int64_t>& peers) {
    peers.erase(-1);
    return std::ssize(peers) == ranks ||
           (std::ssize(peers) == ranks - 1 && peers.count(known->second.rank) == 0 && ranks > 2);
  };
  return all(to) && all(from);
}

// What goes to each member and comes from it, as tracers list it.
void NcclRanges::add_parts(const Calls& calls, int64_t members, int32_t args, RowCollector& rows) {
  if (members < 1 || members > kMostParts) return;
  std::vector<int64_t> sends(static_cast<size_t>(members), 0), receives = sends;
  for (const NcclRange* call : calls) {
    const int64_t peer = call->payload.peer;
    if (peer < 0 || peer >= members || call->payload.bytes < 0) return;
    int64_t& part = (call->kind == CollectiveKind::send ? sends : receives)[static_cast<size_t>(peer)];
    part = plus(part, call->payload.bytes);
  }
  rows.content().splits.push_back({args, rows.intern(fmt::format("[{}]", fmt::join(sends, ", "))),
                                   rows.intern(fmt::format("[{}]", fmt::join(receives, ", ")))});
}

void NcclRanges::add_messages(const Group& group, const NcclRange& group_end, RowCollector& rows) {
  for (const NcclRange* call : group.calls) {
    add_record(call->kind, call->payload, call->start, call->end(), call->thread, rows);
  }
  rows.content().comm_ops.push_back(
      host_range(group_end.start, group_end.duration_ns, group_end.thread, rows.intern("nccl:coalesced")));
}

void NcclRanges::add_record(CollectiveKind kind, const NcclPayload& payload, LocalNs start, LocalNs end, int64_t thread,
                            RowCollector& rows) {
  if (kind == CollectiveKind::unknown) return;
  ++kinds_[kind];
  const int32_t args = rows.add(args_of(kind, payload, type_in(start, end, thread), rows));
  rows.content().comm_ops.push_back(host_range(start, end - start, thread, rows.intern("record_param_comms"), args));
}

CommArgs NcclRanges::args_of(CollectiveKind kind, const NcclPayload& payload, StringId type, RowCollector& rows) const {
  CommArgs args;
  args.collective_name = rows.intern(pytorch_name(kind));
  const auto known = communicators_.find(payload.communicator);
  const int64_t ranks = known == communicators_.end() ? -1 : known->second.ranks;
  if (payload.communicator != 0) {
    args.group_name = rows.intern(fmt::format("{:#x}", payload.communicator));
    args.group_size = ranks;
  }
  if (payload.bytes < 0) return args;
  int64_t part = payload.bytes;
  args.dtype = rows.intern("Byte");
  if (type.known()) {
    const int64_t bytes = element_bytes(dtype_from_name(rows.content().strings.view(type)));
    if (bytes > 0 && part % bytes == 0) {
      part /= bytes;
      args.dtype = type;
    }
  }
  const bool of_all_goes_in = kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_to_all;
  const bool of_all_comes_out = kind == CollectiveKind::all_gather || kind == CollectiveKind::all_to_all;
  const bool is_root = known != communicators_.end() && payload.root >= 0 && known->second.rank == payload.root;
  args.in_elements = of_all_goes_in || (kind == CollectiveKind::scatter && is_root) ? times(part, ranks) : part;
  args.out_elements = of_all_comes_out || (kind == CollectiveKind::gather && is_root) ? times(part, ranks) : part;
  args.rank = sends_one_way(kind) ? payload.peer : payload.root;
  return args;
}

StringId NcclRanges::type_in(LocalNs start, LocalNs end, int64_t thread) const {
  const auto first = std::lower_bound(
      launches_.begin(), launches_.end(), std::tie(thread, start),
      [](const TypedLaunch& launch, const auto& key) { return std::tie(launch.thread, launch.start) < key; });
  return first == launches_.end() || first->thread != thread || first->start > end ? StringId() : first->type;
}

}  // namespace skewscope::ingest
