// Problem: a tracer lost what joins the kernels of collectives to their launches, but recorded both. Idea: of the
// launches within ranges and records of collectives, those that no GPU row refers to are theirs, and on one stream the
// k-th kernel is that of the k-th launch. Where numbers differ, kernels at the head were launched before recording
// began, and launches at the tail ran after it ended. Which of several streams is which group's: group_streams.h. Why
// it is right: a stream runs collectives in the order of their launches; no kernel starts before its launch, which is
// checked: where one would, nothing is joined. Cost: nothing where every such kernel has a launch; else two sorts.
#include "join_by_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "collectives/backend_prefix.h"
#include "group_streams.h"
#include "src/ingest/content/row_names.h"

namespace skewscope::ingest {
namespace {

// Rows of communication kernels without a launch and without an id, by start.
std::vector<int32_t> lost_kernels(const FileContent& content) {
  std::vector<int32_t> rows;
  const GpuEvents& gpu = content.gpu.events;
  for (const CommKernel& kernel : content.gpu.comm_kernels) {
    const auto row = static_cast<size_t>(kernel.row);
    if (gpu.launch[row] < 0 && content.gpu.correlation[row] <= 0) rows.push_back(kernel.row);
  }
  const auto start_of = [&](int32_t row) { return gpu.start[static_cast<size_t>(row)]; };
  std::stable_sort(rows.begin(), rows.end(), [&](int32_t a, int32_t b) { return start_of(a) < start_of(b); });
  return rows;
}

// A launch within a collective that no GPU row refers to.
struct FreeLaunch {
  int32_t row = -1, group = -1;
};

// Groups by the names of their records. Point-to-point pairs have streams of their own.
class GroupNumbers {
 public:
  explicit GroupNumbers(const FileContent& content) : content_(content) {}

  // -1: the record names none.
  int32_t of_record(int32_t op) {
    const int32_t args = op < 0 ? -1 : content_.comm_ops[static_cast<size_t>(op)].args;
    if (args < 0) return -1;
    const CommOperation& operation = content_.comm_args.operation_of(static_cast<size_t>(args));
    const StringId name = operation.group_name.known() ? operation.group_name : operation.group_ranks;
    if (!name.known()) return -1;
    return numbers_.try_emplace({name, operation.peer}, static_cast<int32_t>(numbers_.size())).first->second;
  }

 private:
  const FileContent& content_;
  std::map<std::pair<StringId, int64_t>, int32_t> numbers_;
};

// By start.
std::vector<FreeLaunch> free_launches(const FileContent& content) {
  const RangeIndex<CommOpRow> index = collective_ranges(content);
  const LaunchEvents& launches = content.launches.events;
  std::vector<bool> used(launches.size(), false);
  for (const int32_t launch : content.gpu.events.launch) {
    if (launch >= 0) used[static_cast<size_t>(launch)] = true;
  }
  GroupNumbers groups(content);
  std::vector<FreeLaunch> found;
  size_t near = 0;
  for (size_t i = 0; i < launches.size(); ++i) {
    const auto any = [](int32_t) { return true; };
    const auto has_args = [&](int32_t op) { return content.comm_ops[static_cast<size_t>(op)].args >= 0; };
    if (used[i] || index.innermost(launches.thread[i], launches.start[i], near, any) < 0) continue;
    const int32_t record = index.innermost(launches.thread[i], launches.start[i], near, has_args);
    found.push_back({static_cast<int32_t>(i), groups.of_record(record)});
  }
  const auto start_of = [&](const FreeLaunch& launch) { return launches.start[static_cast<size_t>(launch.row)]; };
  std::stable_sort(found.begin(), found.end(),
                   [&](const FreeLaunch& a, const FreeLaunch& b) { return start_of(a) < start_of(b); });
  return found;
}

// Numbered as they come.
std::vector<StreamKernel> on_streams(const std::vector<int32_t>& rows, const GpuEvents& gpu) {
  std::map<std::pair<int32_t, int32_t>, int32_t> numbers;
  std::vector<StreamKernel> kernels;
  for (const int32_t kernel : rows) {
    const auto row = static_cast<size_t>(kernel);
    const auto number =
        numbers.try_emplace({gpu.device[row], gpu.stream[row]}, static_cast<int32_t>(numbers.size())).first->second;
    kernels.push_back({gpu.start[row], gpu.start[row] + gpu.duration_ns[row], number});
  }
  return kernels;
}

}  // namespace

RangeIndex<CommOpRow> collective_ranges(const FileContent& content) {
  std::vector<int32_t> collectives;
  for (size_t i = 0; i < content.comm_ops.size(); ++i) {
    const std::string_view name = content.strings.view(content.comm_ops[i].name);
    const bool on_gpu = is_collective_range(name) && !is_host_backend(name);
    if (on_gpu || name == "record_param_comms") collectives.push_back(static_cast<int32_t>(i));
  }
  return RangeIndex<CommOpRow>(content.comm_ops, std::move(collectives));
}

void join_by_order(FileContent& content) {
  const std::vector<int32_t> rows = lost_kernels(content);
  if (rows.empty()) return;
  const std::vector<FreeLaunch> free = free_launches(content);
  if (free.empty()) return;
  std::vector<GroupLaunch> launches;
  for (const FreeLaunch& launch : free) {
    launches.push_back({content.launches.events.start[static_cast<size_t>(launch.row)], launch.group});
  }
  GpuEvents& gpu = content.gpu.events;
  const KernelLaunches told = launches_of_streams(launches, on_streams(rows, gpu));
  int64_t joined = 0, open = 0;
  for (size_t k = 0; k < rows.size(); ++k) {
    open += told.is_open[k] ? 1 : 0;
    if (told.launch[k] < 0) continue;
    gpu.launch[static_cast<size_t>(rows[k])] = free[static_cast<size_t>(told.launch[k])].row;
    ++joined;
  }
  report(content, Severity::info, "joined-by-order", joined,
         "collective kernels without correlation id; the k-th kernel on a group's stream is assigned to the group's "
         "k-th launch");
  report(content, Severity::warning, "order-unknown", open,
         "collective kernels without correlation id; neither order nor time shows their launch, so group, operation "
         "and size are unknown");
}

}  // namespace skewscope::ingest
