// What the name of an NVTX range means: who put it there, and what it says.
#pragma once

#include <cstdint>
#include <string_view>

#include "collectives/kind.h"

namespace skewscope::ingest {

struct RangeName {
  enum class Of : uint8_t {
    program,     // of the program itself, or of a library that nothing is known of
    operation,   // of PyTorch's emit_nvtx: "aten::mm, seq = 7, op_id = 9"
    record,      // record_param_comms of emit_nvtx, which says nothing
    annotation,  // "nccl:all_to_all, op_id = 9"
    nccl_call,   // "ncclAllReduce"
    nccl_group_start,
    nccl_group_end,
    nccl_other,     // "ncclCommInitRank"
    xla_operation,  // "TSL:Thunk:#hlo_op=all-reduce-start.3#"
    xla_module,     // "TSL:XlaModule:#hlo_module=jit_train_step,program_id=7#"
    xla_other,
  };

  Of of = Of::program;
  CollectiveKind kind = CollectiveKind::unknown;
  std::string_view name;   // without arguments: "aten::mm", "all-reduce-start.3", "jit_train_step"
  std::string_view sizes;  // "[[8, 16], []]" of emit_nvtx(record_shapes=True); "": none
  int64_t sequence = -1;   // "seq"
};

RangeName read_range_name(std::string_view text);

}  // namespace skewscope::ingest
