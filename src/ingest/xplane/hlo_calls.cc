#include "hlo_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <string_view>

#include "src/ingest/content/distinct_rows.h"

namespace skewscope::ingest {
namespace {

uint64_t hash_of(std::string_view text) {  // FNV-1a: the same on every host
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ULL;
  return hash;
}

int64_t elements_times(int64_t elements, int64_t count) {
  return elements < 0 || count < 1 || elements > std::numeric_limits<int64_t>::max() / count ? -1 : elements * count;
}

}  // namespace

HloCalls::HloCalls(const DevicePlane& device, int64_t device_id, RowCollector& rows)
    : device_(device), device_id_(device_id), rows_(rows), known_(device.ops.size()) {}

HloCalls::Known& HloCalls::known(int32_t op) {
  Known& known = known_[static_cast<size_t>(op)];
  if (!known.made) make(device_.ops[static_cast<size_t>(op)], known);
  known.made = true;
  return known;
}

void HloCalls::make(const DeviceOp& op, Known& known) {
  static const HloModule kNoModule;
  const HloCollective& told = *op.told();
  const HloModule& module = op.module == nullptr ? kNoModule : *op.module;
  const DeviceGroup group = group_of_device(module, told, device_id_);
  const int64_t members = std::ssize(group);
  CommArgs& args = known.args;
  args.collective_name = rows_.intern(told.operation);
  if (!told.dtype.empty()) args.dtype = rows_.intern(told.dtype);
  args.in_elements = args.out_elements = told.elements;
  if (told.operation == "_allgather_base") {
    args.in_elements = members > 0 && told.elements % members == 0 ? told.elements / members : -1;
  } else if (told.operation == "_reduce_scatter_base") {
    args.in_elements = elements_times(told.elements, members);
  }
  known.hash = hash_of(fmt::format("{}/{}", op.program_name, op.name));
  if (members == 0) return;
  args.group_name = rows_.intern("replica group");
  args.group_ranks = rows_.intern(fmt::format("[{}]", fmt::join(group, ", ")));
  args.group_size = members;
  if (told.permutes) add_peers(module, told, known);
}

// With one peer it is one operation; with several, messages of one batch.
void HloCalls::add_peers(const HloModule& module, const HloCollective& told, Known& known) {
  const PermutePeers peers = permute_peers(module, told, device_id_);
  CommArgs& args = known.args;
  if (peers.source == peers.target) {
    args.peer = peers.target;
  } else if (peers.source < 0) {
    args.collective_name = rows_.intern("send");
    args.peer = peers.target;
  } else if (peers.target < 0) {
    args.collective_name = rows_.intern("recv");
    args.peer = peers.source;
  } else {
    args.collective_name = rows_.intern("coalesced");
    known.messages = {{-1, true, peers.target, told.elements}, {-1, false, peers.source, told.elements}};
  }
}

int32_t HloCalls::add(int32_t op, int64_t run) {
  Known& of_op = known(op);
  CommArgs args = of_op.args;
  if (run >= 0) {
    const int64_t before = executed_[{op, run}]++;
    args.comms_id = RowMixer().add(of_op.hash).add(run).add(before).hash() | 1;
  }
  const int32_t row = rows_.add(args);
  for (PeerMessage message : of_op.messages) {
    message.args = row;
    rows_.content().messages.push_back(message);
  }
  return row;
}

}  // namespace skewscope::ingest
