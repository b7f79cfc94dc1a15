#include "communication_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "random.h"

namespace skewscope::simulate {
namespace {

struct Spelling {
  const char* c10d_op;
  const char* collective_name;
  const char* annotation;
  const char* kernel;       // ncclDevKernel_<...>, without type
  const char* before_2_19;  // ncclKernel_<...>
};

Spelling spelling_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
      return {"c10d::_allgather_base_", "_allgather_base", "_all_gather_base", "AllGather_RING_LL",
              "AllGather_RING_LL_Sum_int8_t"};
    case CollectiveKind::reduce_scatter:
      return {"c10d::_reduce_scatter_base_", "_reduce_scatter_base", "_reduce_scatter_base",
              "ReduceScatter_Sum_{}_RING_LL", "ReduceScatter_RING_LL_Sum_{}"};
    case CollectiveKind::all_to_all:
      return {"c10d::alltoall_base_", "all_to_allv", "all_to_all", "SendRecv", "SendRecv_RING_SIMPLE_Sum_int8_t"};
    case CollectiveKind::send:
      return {"c10d::send", "send", "send", "SendRecv", "SendRecv_RING_SIMPLE_Sum_int8_t"};
    case CollectiveKind::recv:
      return {"c10d::recv_", "recv", "recv", "SendRecv", "SendRecv_RING_SIMPLE_Sum_int8_t"};
    case CollectiveKind::all_reduce:
    case CollectiveKind::broadcast:  // from here on none is simulated
    case CollectiveKind::reduce:
    case CollectiveKind::gather:
    case CollectiveKind::scatter:
    case CollectiveKind::barrier:
    case CollectiveKind::coalesced:
    case CollectiveKind::send_recv:
    case CollectiveKind::unknown:
      break;
  }
  return {"c10d::allreduce_", "allreduce", "all_reduce", "AllReduce_Sum_{}_RING_LL", "AllReduce_RING_LL_Sum_{}"};
}

struct TypeNames {
  const char* c10;
  const char* cpp;
  const char* nccl;
  const char* cuda;
};
TypeNames names_of(DType dtype) {
  if (dtype == DType::float32) return {"Float", "float", "f32", "float"};
  return {"BFloat16", "c10::BFloat16", "bf16", "__nv_bfloat16"};
}

std::string kernel_name(const SimulateOptions& options, const Spelling& spelling, const TypeNames& types) {
  if (options.vendor == TraceVendor::amd) return "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)";
  if (options.style == TraceStyle::era_a) {
    const std::string name = fmt::format(fmt::runtime(spelling.before_2_19), types.cuda);
    return "ncclKernel_" + name + "(ncclDevComm*, unsigned long, ncclWork*)";
  }
  const std::string name = fmt::format(fmt::runtime(spelling.kernel), types.nccl);
  if (options.style == TraceStyle::era_c) return "ncclDevKernel_" + name + "(ncclDevComm*, unsigned long, ncclWork*)";
  return "ncclDevKernel_" + name + "(ncclDevKernelArgsStorage<4096ul>)";
}

std::string shapes(TraceStyle style, int64_t elements, const char* type) {
  switch (style) {
    case TraceStyle::era_a:
      return fmt::format(R"(, "Input Dims": [[{}]], "Input type": ["{}"])", elements, type);
    case TraceStyle::era_c:
      return "";
    default:
      return fmt::format(
          R"("Concrete Inputs": [""], "Input type": ["{}"], "Input Strides": [[1]], "Input Dims": [[{}]], )", type,
          elements);
  }
}

// Cut as member lists are.
std::string split_list(const std::vector<int64_t>& elements) {
  const size_t shown = std::min(elements.size(), kShownRanks);
  return fmt::format("[{}{}]", fmt::join(elements.begin(), elements.begin() + static_cast<ptrdiff_t>(shown), ", "),
                     shown < elements.size() ? ", ..." : "");
}

std::string op_arguments(TraceStyle style, const Spelling& spelling, const TypeNames& types, const Group& group,
                         const Op& op, int64_t rank_argument, const std::string& peer) {
  const std::string ranks = rank_list(group);
  const std::string in_split = split_list(op.in_split), out_split = split_list(op.out_split);
  if (style == TraceStyle::era_c) {
    return fmt::format(
        R"("Process Group Name": "{}", "Global rank stride": {}, "Out msg nelems": {}, "Process Group Ranks": "{}", )"
        R"("Group size": {}, "Global rank start": {}, {}"In msg nelems": {}, "In split size": "{}", )"
        R"("Out split size": "{}", "dtype": "{}", "Process Group Description": "{}", "Collective name": "{}")",
        group.name, group.stride(), op.out_elements, ranks, group.ranks.size(), group.ranks[0], peer, op.in_elements,
        in_split, out_split, types.c10, group.description, spelling.collective_name);
  }
  return fmt::format(
      R"("Collective name": "{}", "Process Group Description": "{}", "dtype": "{}", "Rank": {}, "Input Strides": )"
      R"([[[1]], [], [], [], [], [], [], [], [], []], "Concrete Inputs": ["", "", "", "{}", "", "[]", "[]", "{}", )"
      R"("{}", "{}"], "Out msg nelems": {}, "Process Group Name": "{}", "Input type": ["TensorList", "", "", )"
      R"("Scalar", "", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar"], "Global rank stride": {}, )"
      R"("Out split size": "{}", "In split size": "{}", "Process Group Ranks": "{}", "Group size": {}, {}"Input )"
      R"(Dims": [[[{}]], [], [], [], [], [], [], [], [], []], "Global rank start": {}, "In msg nelems": {})",
      spelling.collective_name, group.description, types.c10, rank_argument, rank_argument, group.ranks[0],
      group.stride(), group.ranks.size(), op.out_elements, group.name, group.stride(), out_split, in_split, ranks,
      group.ranks.size(), peer, op.in_elements, group.ranks[0], op.in_elements);
}

}  // namespace

std::string rank_list(const Group& group) {
  std::string text = "[";
  for (size_t i = 0; i < group.ranks.size() && i < kShownRanks; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", group.ranks[i]);
  }
  return text + (group.ranks.size() > kShownRanks ? ", ...]" : "]");
}

CommunicationText communication_text(const Job& job, int32_t rank, const Op& op) {
  const SimulateOptions& options = job.options;
  const Group& group = job.topology.groups[static_cast<size_t>(job.topology.group_of(rank, op.axis))];
  const Spelling spelling = spelling_of(op.kind);
  const TypeNames types = names_of(op.dtype);
  CommunicationText text;
  text.c10d_op = spelling.c10d_op;
  text.kernel_name = kernel_name(options, spelling, types);
  text.group_first = group.ranks[0];
  text.group_stride = group.stride();
  text.group_size = static_cast<int64_t>(group.ranks.size());
  text.group_name = group.name;
  text.annotation = fmt::format("{}:{}", options.vendor == TraceVendor::cpu ? "gloo" : "nccl", spelling.annotation);
  if (op.layer >= 0) {
    const char* what = op.kind == CollectiveKind::all_gather ? "all_gather" : "post_backward_reduce";
    text.module = fmt::format("layers.{}", op.layer);
    text.shard_range = fmt::format("FSDP::{} ({})", what, text.module);
  }
  const int32_t own = group.position(rank);
  int64_t rank_argument = own;
  std::string peer;
  if (op.peer_stage >= 0) {
    const bool send = op.kind == CollectiveKind::send;
    if (options.vendor != TraceVendor::cpu) {
      text.annotation += fmt::format(" {}{}{}", own, send ? "->" : "<-", op.peer_stage);
    }
    peer =
        fmt::format(R"("{}": {}, )", send ? "Dst Rank" : "Src Rank", group.ranks[static_cast<size_t>(op.peer_stage)]);
    rank_argument = op.peer_stage;
  }
  text.shape_args = shapes(options.style, op.in_elements, types.cpp);
  if (options.style == TraceStyle::era_a) return text;
  text.kernel_args = fmt::format(
      R"(, "Collective name": "{}", "In msg nelems": {}, "Out msg nelems": {}, "Group size": {}, "dtype": "{}", )"
      R"("In split size": "{}", "Out split size": "{}", "Process Group Name": "{}", "Process Group Description": )"
      R"("{}", {}"Process Group Ranks": "{}")",
      spelling.collective_name, op.in_elements, op.out_elements, group.ranks.size(), types.c10, split_list(op.in_split),
      split_list(op.out_split), group.name, group.description, peer, rank_list(group));
  text.op_args = op_arguments(options.style, spelling, types, group, op, rank_argument, peer);
  return text;
}

uint64_t comms_id(const CommunicationText& text, int64_t seq, bool p2p) {
  uint64_t hash = p2p ? 2 : 1;
  for (const char c : text.group_name) hash = mix(hash, static_cast<uint64_t>(static_cast<unsigned char>(c)));
  for (const int64_t part : {seq, text.group_first, text.group_stride, text.group_size}) {
    hash = mix(hash, static_cast<uint64_t>(part));
  }
  return hash;
}

}  // namespace skewscope::simulate
