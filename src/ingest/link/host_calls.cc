// Problem: the thread of the program records what it asks for (record_param_comms: group, sizes), a worker's thread
// runs it later: nothing in the trace joins the two. Idea: workers take what they are asked for in turn. The
// k-th range of an operation is its k-th record, if there are as many of both and no range begins before its record.
// Where the numbers differ (a row was lost, a window cuts), nothing tells which is whose; but if all records of the
// operation are of one group, all its ranges are. Cost: two sorts.
#include "host_calls.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "collectives/backend_prefix.h"
#include "collectives/kind.h"

namespace skewscope::ingest {
namespace {

// What asks for one operation, by start.
struct Asked {
  std::vector<int32_t> ranges, records;  // rows of comm_ops
};

class HostCallFinder {
 public:
  explicit HostCallFinder(const FileContent& content) : content_(content) {}

  std::vector<HostCall> find() {
    for (size_t i = 0; i < content_.comm_ops.size(); ++i) add(static_cast<int32_t>(i));
    std::vector<HostCall> calls;
    for (auto& [kind, asked] : by_kind_) {
      by_start(asked.ranges);
      by_start(asked.records);
      join(kind, asked, calls);
    }
    std::sort(calls.begin(), calls.end(), [](const HostCall& a, const HostCall& b) { return a.range < b.range; });
    return calls;
  }

 private:
  const CommOpRow& op(int32_t row) const { return content_.comm_ops[static_cast<size_t>(row)]; }
  const CommOperation& operation_of(int32_t row) const {
    return content_.comm_args.operation_of(static_cast<size_t>(op(row).args));
  }

  void add(int32_t row) {
    const std::string_view name = content_.strings.view(op(row).name);
    if (is_host_backend(name)) {
      if (const auto kind = kind_from_annotation(name)) by_kind_[*kind].ranges.push_back(row);
    } else if (op(row).args >= 0 && operation_of(row).any()) {
      const std::string_view asked_for = content_.strings.view(operation_of(row).collective_name);
      if (const auto kind = kind_from_operation_name(asked_for)) by_kind_[*kind].records.push_back(row);
    }
  }

  void by_start(std::vector<int32_t>& rows) const {
    std::stable_sort(rows.begin(), rows.end(), [&](int32_t a, int32_t b) { return op(a).start < op(b).start; });
  }

  void join(CollectiveKind kind, const Asked& asked, std::vector<HostCall>& calls) const {
    const bool own = each_has_its_own(asked);
    const bool of_one_group = !own && tells_of_groups(kind) && are_of_one_group(asked.records);
    for (size_t k = 0; k < asked.ranges.size(); ++k) {
      const int32_t record = own ? asked.records[k] : of_one_group ? asked.records.front() : -1;
      calls.push_back({asked.ranges[k], record, own});
    }
  }

  bool each_has_its_own(const Asked& asked) const {
    if (asked.ranges.size() != asked.records.size()) return false;
    for (size_t k = 0; k < asked.ranges.size(); ++k) {
      if (op(asked.ranges[k]).start < op(asked.records[k]).start) return false;
    }
    return true;
  }

  // A message is of two ranks, which its own record alone tells.
  static bool tells_of_groups(CollectiveKind kind) {
    return kind != CollectiveKind::send && kind != CollectiveKind::recv && kind != CollectiveKind::send_recv;
  }

  bool are_of_one_group(const std::vector<int32_t>& records) const {
    const auto group_of = [&](int32_t row) {
      const CommOperation& o = operation_of(row);
      return std::make_tuple(o.group_name, o.group_ranks, o.group_size, o.dtype);
    };
    return !records.empty() && std::all_of(records.begin(), records.end(),
                                           [&](int32_t row) { return group_of(row) == group_of(records.front()); });
  }

  const FileContent& content_;
  std::map<CollectiveKind, Asked> by_kind_;
};

}  // namespace

std::vector<HostCall> host_calls(const FileContent& content) { return HostCallFinder(content).find(); }

}  // namespace skewscope::ingest
