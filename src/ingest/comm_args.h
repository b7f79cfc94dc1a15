// Arguments of collectives by row. Each of thousands of calls comes with those of its kernel and of its CPU op: what
// calls have in common is kept once.
#pragma once

#include <cstdint>
#include <vector>

#include "distinct_rows.h"
#include "skewscope/base/ids.h"

namespace skewscope::ingest {

// An operation in a group; as Kineto writes it (reference: ParamCommsUtils). -1 / none where absent.
struct CommOperation {
  StringId collective_name;  // "Collective name"
  StringId dtype;
  StringId group_name;  // "Process Group Name"; spring 2024: "Process Group ID" as text
  StringId group_description;
  StringId group_ranks;  // "Process Group Ranks" as written: "[0, 1, ...]"
  int64_t group_size = -1;
  int64_t rank = -1;  // own rank, root, or peer inside the group, by operation; CPU op only
  int64_t rank_start = -1, rank_stride = -1;
  int64_t peer = -1;  // "Dst Rank" / "Src Rank": global

  bool any() const { return collective_name.known(); }
  bool operator==(const CommOperation&) const = default;
};

struct CommArgs : CommOperation {
  int64_t in_elements = -1, out_elements = -1;
  int64_t seq = -1;
  uint64_t comms_id = 0;
};

struct CommOperationHash {
  size_t operator()(const CommOperation& o) const {
    RowMixer mixer;
    for (const StringId id : {o.collective_name, o.dtype, o.group_name, o.group_description, o.group_ranks})
      mixer.add(id);
    for (const int64_t number : {o.group_size, o.rank, o.rank_start, o.rank_stride, o.peer}) mixer.add(number);
    return mixer.hash();
  }
};

struct CommArgsRows {
  struct Call {
    int64_t in_elements = -1, out_elements = -1;
    int64_t seq = -1;
    uint64_t comms_id = 0;
    int32_t operation = -1;  // row in operations
  };
  DistinctRows<CommOperation, CommOperationHash> operations;
  std::vector<Call> calls;

  size_t size() const { return calls.size(); }
  CommArgs operator[](size_t row) const {
    const Call& call = calls[row];
    const CommOperation& operation = operations.rows()[static_cast<size_t>(call.operation)];
    return {operation, call.in_elements, call.out_elements, call.seq, call.comms_id};
  }
  void push_back(const CommArgs& args) {
    calls.push_back({args.in_elements, args.out_elements, args.seq, args.comms_id, operations.number_of(args)});
  }
  int64_t bytes() const { return operations.bytes() + static_cast<int64_t>(calls.size() * sizeof(Call)); }
};

}  // namespace skewscope::ingest
