#include "hccl_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "hccl_name.h"
#include "rank_folder.h"

namespace skewscope::ingest {
namespace {

// Apart from the streams of kernels: an operation runs on several at once, of which no file tells one.
constexpr int32_t kFirstGroupStream = 1'000'000;

// HCCL's interface counts what a rank gives, of a reduce-scatter what it gets.
void set_elements(std::string_view operation, int64_t elements, CommArgs& args) {
  if (elements < 0) return;
  if (operation == "allreduce" || operation == "broadcast" || operation == "reduce" || operation == "send" ||
      operation == "recv") {
    args.in_elements = args.out_elements = elements;
  } else if (operation == "_allgather_base") {
    args.in_elements = elements;
    if (args.group_size > 0) args.out_elements = elements * args.group_size;
  } else if (operation == "_reduce_scatter_base") {
    args.out_elements = elements;
    if (args.group_size > 0) args.in_elements = elements * args.group_size;
  }
}

// Enough for any message, and times any group no overflow.
constexpr int64_t kMostElements = int64_t{1} << 40;

}  // namespace

void HcclCalls::add(const HcclCall& call) {
  const HcclName name = read_hccl_name(call.name);
  const std::string_view group = call.group.empty() ? name.group : call.group;
  const CommArgs args = args_of(call, group);
  GpuRow row;
  row.start = call.start;
  row.duration_ns = call.duration_ns;
  row.correlation = call.correlation;
  row.name = rows_.intern(name.operation);
  row.device = device_;
  row.stream = stream_of(group.empty() ? name.group_digits : group);
  row.work = GpuWork::communication;
  if (args.any()) row.args = rows_.add(args);
  if (row.args >= 0 && call.wait_ns > 0) rows_.content().measured_waits.push_back({row.args, call.wait_ns});
  rows_.add(row);
}

CommArgs HcclCalls::args_of(const HcclCall& call, std::string_view group) {
  const HcclName name = read_hccl_name(call.name);
  std::string_view operation = collective_name_of(name.operation);
  CommArgs args;
  if (operation.empty()) return args;
  const ProcessGroup* const told = group.empty() ? nullptr : group_called(rows_.content(), group);
  args.seq = name.sequence;
  args.group_size = call.group_size;
  if (!group.empty()) args.group_name = rows_.intern(group);
  if (told != nullptr) {
    args.group_size = told->size;
    if (!told->description.empty()) args.group_description = rows_.intern(told->description);
    if (!told->ranks.empty())
      args.group_ranks = rows_.intern(fmt::format("[{}]", fmt::join(told->ranks.ranks(), ", ")));
  }
  // A batch names no peers. In a group of two there is only one that it can be with.
  if (operation == "coalesced" && told != nullptr && told->ranks.size() == 2) {
    const std::vector<int64_t> ranks = told->ranks.ranks();
    const int64_t own = rows_.content().distributed.rank;
    if (own == ranks[0] || own == ranks[1]) {
      operation = "send_recv";
      args.peer = own == ranks[0] ? ranks[1] : ranks[0];
    }
  }
  if (operation == "send" || operation == "recv") args.rank = call.peer;
  args.collective_name = rows_.intern(operation);
  if (const std::string_view dtype = dtype_of_hccl(call.dtype); !dtype.empty()) args.dtype = rows_.intern(dtype);
  set_elements(operation, std::min(call.elements, kMostElements), args);
  return args;
}

int32_t HcclCalls::stream_of(std::string_view group) {
  const auto known = streams_.find(group);
  if (known != streams_.end()) return known->second;
  const int32_t stream = kFirstGroupStream + static_cast<int32_t>(streams_.size());
  streams_.emplace(group, stream);
  return stream;
}

}  // namespace skewscope::ingest
