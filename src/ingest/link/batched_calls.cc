// What operations tell that are launched as one.
//
// Problem: a batch of sends and receives (batch_isend_irecv) is launched when all are recorded, in a range of its own
// (PyTorch's endCoalescing), and so are collectives of one kind under a coalescing manager. Idea: the records of such a
// launch are those in front of its range, since the last batch, within which no kernel was launched. Sends and receives
// of one peer are one operation; of several, a message for each peer and direction. Collectives of one kind are one
// operation, too. Source: PyTorch ParamCommsUtils, issue #194693. Cost: each batch is read once.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "call_metadata.h"
#include "collectives/kernel_names.h"

namespace skewscope::ingest {
namespace {

// -1 where one is absent, or the sum has no room.
void add_elements(int64_t elements, int64_t& sum) {
  sum = sum < 0 || elements < 0 || sum > INT64_MAX - elements ? -1 : sum + elements;
}

}  // namespace

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

}  // namespace skewscope::ingest
