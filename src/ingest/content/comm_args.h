// Arguments of collectives by row. Each of thousands of calls comes with those of its kernel and of its CPU op: what
// calls have in common is kept once.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/transport.h"
#include "distinct_rows.h"
#include "near_numbers.h"
#include "skewscope/base/ids.h"

namespace skewscope::ingest {

// An operation in a group; as Kineto writes it (PyTorch's ParamCommsUtils). -1 / none where absent.
struct CommOperation {
  StringId collective_name;  // "Collective name"
  StringId dtype;
  StringId group_name;  // "Process Group Name"; spring 2024: "Process Group ID" as text
  StringId group_description;
  StringId group_ranks;  // "Process Group Ranks" as written: "[0, 1, ...]"
  int64_t group_size = -1;
  int64_t rank = -1;  // own rank, root, or peer inside the group, by operation; CPU op only
  int64_t rank_start = -1, rank_stride = -1;
  int64_t peer = -1;                         // "Dst Rank" / "Src Rank": global
  Algorithm algorithm = Algorithm::unknown;  // of the library; Kineto does not tell them
  Protocol protocol = Protocol::unknown;

  bool any() const { return collective_name.known(); }
  bool operator==(const CommOperation&) const = default;
};

struct CommArgs : CommOperation {
  int64_t in_elements = -1, out_elements = -1;
  int64_t seq = -1;
  uint64_t comms_id = 0;
};

// What a call sends to one peer or receives from it, where it has several: of a row of comm_args.
struct PeerMessage {
  int32_t args = -1;
  bool sends = false;
  int64_t peer = -1;  // global rank
  int64_t elements = -1;
};

struct CommOperationHash {
  size_t operator()(const CommOperation& o) const {
    RowMixer mixer;
    for (const StringId id : {o.collective_name, o.dtype, o.group_name, o.group_description, o.group_ranks})
      mixer.add(id);
    for (const int64_t number : {o.group_size, o.rank, o.rank_start, o.rank_stride, o.peer}) mixer.add(number);
    mixer.add(static_cast<int64_t>(o.algorithm));
    mixer.add(static_cast<int64_t>(o.protocol));
    return mixer.hash();
  }
};

class CommArgsRows {
 public:
  size_t size() const { return operation_.size(); }
  CommArgs operator[](size_t row) const {
    return {operation_of(row), in_elements_[row], out_elements_[row], seq_[row],
            static_cast<uint64_t>(before_comms_id_[row]) + 1};
  }
  const CommOperation& operation_of(size_t row) const {
    return operations_.rows()[static_cast<size_t>(operation_[row])];
  }
  // The different ones.
  const std::vector<CommOperation>& operations() const { return operations_.rows(); }

  void push_back(const CommArgs& args) {
    operation_.push_back(operations_.number_of(args));
    in_elements_.push_back(args.in_elements);
    out_elements_.push_back(args.out_elements);
    seq_.push_back(args.seq);
    before_comms_id_.push_back(static_cast<int64_t>(args.comms_id - 1));
  }
  int64_t bytes() const {
    return operations_.bytes() + in_elements_.bytes() + out_elements_.bytes() + seq_.bytes() +
           before_comms_id_.bytes() + static_cast<int64_t>(operation_.size() * sizeof(int32_t));
  }
  // visit(std::vector of one entry per row), to make room.
  template <class Visit>
  void visit_columns(const Visit& visit) {
    visit(operation_);
    for (NearNumbers* numbers : {&in_elements_, &out_elements_, &seq_, &before_comms_id_}) numbers->visit_column(visit);
  }

 private:
  DistinctRows<CommOperation, CommOperationHash> operations_;
  std::vector<int32_t> operation_;  // row in operations_
  NearNumbers in_elements_, out_elements_, seq_;
  NearNumbers before_comms_id_;  // comms_id - 1: -1 where there is none
};

}  // namespace skewscope::ingest
