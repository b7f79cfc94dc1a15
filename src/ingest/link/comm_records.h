// The operations of a file, where calls find theirs: by External id, and by when they began.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "range_index.h"
#include "skewscope/model/rank_trace.h"
#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

inline bool launched_in(const LaunchRow& launch, const CommOpRow& op) {
  return launch.thread == op.thread && op.start <= launch.start && launch.start < op.start + op.duration_ns;
}

// What the names of a file tell, asked once per distinct name: there are few, and they are on every call.
class NameKinds {
 public:
  using Kind = std::optional<CollectiveKind>;

  NameKinds(const StringTable& names, Kind (*kind_of)(std::string_view))
      : names_(names), kind_of_(kind_of), told_(names.size()) {}
  Kind of(StringId name);

 private:
  const StringTable& names_;
  Kind (*kind_of_)(std::string_view);
  std::vector<std::optional<Kind>> told_;  // by StringId
};

// Holds on to `content`, of which
// operations, ranges on the GPU and strings must stay as they are.
class CommRecords {
 public:
  enum class Role : uint8_t { record, range, custom, sized, other };

  explicit CommRecords(const FileContent& content);

  // Whether there are batches. Then the launches of all communication kernels are to be told before anything is asked.
  bool any_batch() const { return any_batch_; }
  void add_launch(const LaunchRow& launch);

 private:
  friend class MetadataFinder;
  static constexpr size_t kRoles = 4;  // that are asked for

  static Role role_of(std::string_view name, std::optional<CollectiveKind> annotation);
  const RangeIndex<CommOpRow>& open(Role role) const { return open_[static_cast<size_t>(role)]; }
  int64_t external_id_of(int32_t op) const { return content_.comm_ops[static_cast<size_t>(op)].external_id; }

  const FileContent& content_;
  bool any_batch_ = false;
  std::vector<Role> roles_;  // row = row of comm_ops
  // Rows of comm_ops by External id, where those tell: record_param_comms and ops of custom kernels.
  std::vector<int32_t> by_external_id_;
  std::vector<bool> launched_;  // row = row of comm_ops: a record within which a communication kernel was launched
  std::unordered_map<int32_t, LocalNs> first_launch_;  // by row of comm_ops: a range
  std::array<RangeIndex<CommOpRow>, kRoles> open_;
  RangeIndex<GpuAnnotationRow> gpu_ranges_;
  std::array<size_t, kRoles> near_launch_{};  // where the last launch was found
};

}  // namespace skewscope::ingest
