#include "rccl_calls.h"

#include <algorithm>
#include <array>
#include <utility>

namespace skewscope::ingest {

std::string_view collective_of_rccl(std::string_view call) {
  using Name = std::pair<std::string_view, std::string_view>;
  constexpr std::array kRcclNames = {Name{"ncclAllReduce", "allreduce"},
                                     Name{"ncclAllReduceWithBias", "allreduce"},
                                     Name{"ncclAllGather", "_allgather_base"},
                                     Name{"ncclReduceScatter", "_reduce_scatter_base"},
                                     Name{"ncclBroadcast", "broadcast"},
                                     Name{"ncclBcast", "broadcast"},
                                     Name{"ncclReduce", "reduce"},
                                     Name{"ncclAllToAll", "all_to_all"},
                                     Name{"ncclAllToAllv", "all_to_allv"},
                                     Name{"ncclGather", "gather"},
                                     Name{"ncclScatter", "scatter"},
                                     Name{"ncclSend", "send"},
                                     Name{"ncclRecv", "recv"}};
  const auto* const known =
      std::find_if(kRcclNames.begin(), kRcclNames.end(), [&](const Name& name) { return name.first == call; });
  return known == kRcclNames.end() ? std::string_view() : known->second;
}

void add_rccl_call(std::string_view collective, LocalNs start, int64_t duration_ns, int64_t thread,
                   RowCollector& rows) {
  CommArgs args;
  args.collective_name = rows.intern(collective);
  CommOpRow row;
  row.start = start;
  row.duration_ns = duration_ns;
  row.thread = thread;
  row.name = rows.intern("record_param_comms");
  row.args = rows.add(args);
  rows.content().comm_ops.push_back(row);
}

}  // namespace skewscope::ingest
