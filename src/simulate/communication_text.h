// How a collective call appears in a trace: names by vendor and build, and the arguments of record_param_comms and of
// the kernel by era. Built once per rank and operation; only Seq and Comms Id change with the step.
#pragma once

#include <cstdint>
#include <string>

#include "job.h"

namespace skewscope::simulate {

struct CommunicationText {
  std::string c10d_op;      // "c10d::allreduce_"
  std::string module;       // the layer of its parameters: "layers.3"; empty: of none
  std::string shard_range;  // what FSDP calls it: "FSDP::all_gather (layers.3)"; empty: of no layer
  std::string annotation;   // "nccl:all_reduce", "gloo:all_reduce", "nccl:send 0->1"
  std::string kernel_name;
  std::string kernel_args;  // after the launch arguments; empty: era without
  std::string op_args;      // of record_param_comms, after the ids; empty: era without
  std::string shape_args;   // of the annotation, after the ids
  int64_t group_first = 0, group_stride = 1, group_size = 1;
  std::string group_name;
};

constexpr size_t kShownRanks = 30;  // of a member list, as PyTorch cuts it; of a split list, too

// As PyTorch writes a member list.
std::string rank_list(const Group& group);

CommunicationText communication_text(const Job& job, int32_t rank, const Op& op);

// What a process group's "Comms Id" is: a hash of these, equal on all members of a collective.
uint64_t comms_id(const CommunicationText& text, int64_t seq, bool p2p);

}  // namespace skewscope::simulate
