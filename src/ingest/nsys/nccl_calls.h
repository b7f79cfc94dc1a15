// Ranges of NCCL, and of what runs on it, as records of calls: what ingest/link joins to kernels by their launches.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "collectives/kind.h"
#include "payloads.h"
#include "src/ingest/content/row_collector.h"

namespace skewscope::ingest {

struct NcclRange {
  enum class What : uint8_t {
    call,         // ncclAllReduce, or XLA's thunk of a collective
    group_start,  // ncclGroupStart
    group_end,    // ncclGroupEnd, which launches what was called since
    annotation,   // nccl:all_to_all of PyTorch
    other,        // of NCCL, no call: what makes communicators
  };

  LocalNs start;
  int64_t duration_ns = 0;
  int64_t thread = 0;
  What what = What::other;
  CollectiveKind kind = CollectiveKind::unknown;
  StringId name;  // of annotations, and of XLA's operations
  NcclPayload payload;

  LocalNs end() const { return start + duration_ns; }
};

// `args`: row of comm_args; -1: none.
CommOpRow host_range(LocalNs start, int64_t duration_ns, int64_t thread, StringId name, int32_t args = -1);

class NcclRanges {
 public:
  void add(const NcclRange& range);
  // Of a kernel whose name tells a type.
  void add_launch(int64_t thread, LocalNs start, StringId type) { launches_.push_back({thread, start, type}); }

  struct Communicator {
    int64_t ranks = -1, rank = -1;
  };
  // The largest that the process is known to be in, the first of them; without ranks: none is known.
  Communicator largest() const { return largest_; }
  bool any_payload() const { return any_payload_; }

  // Records of all calls; what was gathered is used up.
  void make_records(RowCollector& rows);
  // Kernels at the beginning whose launch was not recorded: where everything that the rank called is one operation, and
  // their name is that of its kernels, they are of it, too. How many.
  int64_t tell_orphans(FileContent& content) const;

 private:
  struct TypedLaunch {
    int64_t thread = 0;
    LocalNs start;
    StringId type;
  };
  using Calls = std::vector<const NcclRange*>;
  struct Group {
    int64_t depth = 0;
    LocalNs start;
    Calls calls;
  };

  void make_records_of_thread(size_t begin, size_t end, RowCollector& rows);
  void close_group(const Group& group, const NcclRange& group_end, CollectiveKind annotated, RowCollector& rows);
  static void add_parts(const Calls& calls, int64_t members, int32_t args, RowCollector& rows);
  void add_messages(const Group& group, const NcclRange& group_end, RowCollector& rows);
  void add_record(CollectiveKind kind, const NcclPayload& payload, LocalNs start, LocalNs end, int64_t thread,
                  RowCollector& rows);
  void add_xla_operation(const NcclRange& range, RowCollector& rows);
  CommArgs args_of(CollectiveKind kind, const NcclPayload& payload, StringId type, RowCollector& rows) const;
  StringId type_in(LocalNs start, LocalNs end, int64_t thread) const;
  bool goes_to_all(const Calls& calls) const;

  std::vector<NcclRange> ranges_;
  std::vector<TypedLaunch> launches_;
  std::map<uint64_t, Communicator> communicators_;
  Communicator largest_;
  std::map<StringId, int64_t> executions_;  // of XLA's operations
  // Annotated groups of messages without payloads: to how many members each sends.
  std::map<int64_t, int64_t> members_of_groups_;
  std::map<CollectiveKind, int64_t> kinds_;  // of all that was called
  bool any_payload_ = false;
};

}  // namespace skewscope::ingest
