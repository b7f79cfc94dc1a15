// What a collective call is: operation, type, sizes, group, from the best record that tells (KINETO.md, section
// 5): arguments of the kernel -> record_param_comms -> nccl:* range over the launch -> its GPU copy -> kernel name. A
// batch of sends and receives (batch_isend_irecv), and collectives that are launched as one (a coalescing manager), go
// by their records, in front of the launch.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "comm_records.h"
#include "host_calls.h"
#include "skewscope/model/rank_trace.h"
#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

struct CallMetadata {
  CollectiveKind kind = CollectiveKind::unknown;
  MetadataSource source = MetadataSource::kernel_name;
  bool custom = false;
  bool waits = true;
  bool only_by_word = false;            // of a kernel that no table knows: its name alone says that it communicates
  int32_t kernel_ranks = -1;            // of its group, as its kernel's name says
  CommArgs args;                        // the kernel's own fields, then the op's; all absent where neither tells
  int32_t own_args = -1, op_args = -1;  // rows of comm_args that `args` was taken from; -1: not from the kernel, the op
  DType dtype = DType::unknown;
  int64_t in_elements = -1, out_elements = -1;
  int64_t peer_in_group = -1;  // from "send 0->1"
  int32_t record = -1;         // row of comm_ops: the record_param_comms in which a kernel was launched
  // Rows of comm_ops: the record it is linked to, the range and the operator in which it was launched.
  int32_t linked = -1, range = -1, op = -1;
  bool several_groups = false;  // a batch of sends and receives, not all in one group
  // What a batch has with several peers; `call` is open.
  std::vector<BatchMessage> messages;
  std::vector<int64_t> peers_in_group;  // row = row of messages
};

// Asks the records: one for each thread, as it remembers names, batches and where it looked last.
class MetadataFinder {
 public:
  explicit MetadataFinder(const CommRecords& records);

  // `launch`: nullptr for an orphan.
  CallMetadata of_kernel(const GpuRow& row, const LaunchRow* launch);
  // `range`: a row of content.comm_ops whose name is an annotation ("gloo:all_reduce"), or an operator.
  CallMetadata of_host_range(const CommOpRow& range);
  CallMetadata of_host_call(const HostCall& own);

 private:
  using Role = CommRecords::Role;

  std::string_view name(StringId id) const { return content_.strings.view(id); }
  size_t& near(Role role) { return near_[static_cast<size_t>(role)]; }
  const KernelNature& nature_of(StringId kernel);
  bool is_useful(int32_t args);
  const CommOperation& operation_of(int32_t args) const;
  int32_t row_of_external_id(int64_t id);
  int32_t row_of(const CommOpRow* op) const {
    return op == nullptr ? -1 : static_cast<int32_t>(op - content_.comm_ops.data());
  }
  const CommOpRow* record_closed_before(int32_t range);
  void take_messages(int32_t own_row, CallMetadata& call) const;
  const CommOpRow* linked_op(Role role, const GpuRow& row, const LaunchRow* launch);
  const GpuAnnotationRow* gpu_range_over(const GpuRow& row);
  void take_args(int32_t own_row, const CommOpRow* op, CallMetadata& call);
  void take_range(StringId range_name, CallMetadata& call);
  template <class Takes>
  std::vector<int32_t> records_before(int32_t range, const Takes& takes);
  const std::optional<CallMetadata>& batch_of(int32_t range);
  const std::optional<CallMetadata>& coalesced_of(int32_t range, CollectiveKind kind);
  CallMetadata told_together(const std::vector<int32_t>& records);
  void take_shape(const CommOpRow& op, CallMetadata& call) const;
  void take_sizes(const LaunchRow& launch, CallMetadata& call);

  const CommRecords& records_;
  const FileContent& content_;
  NameKinds operations_;   // by what record_param_comms and kernel arguments call an operation
  NameKinds annotations_;  // by names of ranges
  std::vector<std::optional<KernelNature>> natures_;  // by StringId
  // By row of comm_ops, the range, and what its kernel is: coalesced where its name does not tell.
  std::map<std::pair<int32_t, CollectiveKind>, std::optional<CallMetadata>> batches_;
  // Where the last one was found.
  size_t near_external_id_ = 0, near_gpu_range_ = 0;
  std::array<size_t, CommRecords::kRoles> near_{};
};

}  // namespace skewscope::ingest
