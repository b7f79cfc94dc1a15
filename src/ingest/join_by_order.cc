// Problem: a tracer lost what joins the kernels of collectives to their launches, but recorded both. Idea: of the
// launches within ranges and records of collectives, those that no GPU row refers to are theirs, and the k-th kernel is
// that of the k-th launch. Where numbers differ, kernels at the head were launched before recording began, and launches
// at the tail ran after it ended. Why it is right: a device runs collectives in the order of their launches, but for
// those of several streams at once; no kernel starts before its launch, which is checked: where one would, nothing is
// joined. Cost: nothing where every such kernel has a launch; else two sorts.
#include "join_by_order.h"

#include <algorithm>
#include <numeric>

#include "collectives/backend_prefix.h"
#include "event_fields.h"

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

// Rows of launches within collectives that no GPU row refers to, by start.
std::vector<int32_t> free_launches(const FileContent& content) {
  const RangeIndex<CommOpRow> index = collective_ranges(content);
  const LaunchEvents& launches = content.launches.events;
  std::vector<bool> used(launches.size(), false);
  for (const int32_t launch : content.gpu.events.launch) {
    if (launch >= 0) used[static_cast<size_t>(launch)] = true;
  }
  std::vector<int32_t> rows;
  size_t near = 0;
  for (size_t i = 0; i < launches.size(); ++i) {
    const auto any = [](int32_t) { return true; };
    if (used[i] || index.innermost(launches.thread[i], launches.start[i], near, any) < 0) continue;
    rows.push_back(static_cast<int32_t>(i));
  }
  const auto start_of = [&](int32_t row) { return launches.start[static_cast<size_t>(row)]; };
  std::stable_sort(rows.begin(), rows.end(), [&](int32_t a, int32_t b) { return start_of(a) < start_of(b); });
  return rows;
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

int64_t join_by_order(FileContent& content) {
  const std::vector<int32_t> kernels = lost_kernels(content);
  if (kernels.empty()) return 0;
  const std::vector<int32_t> launches = free_launches(content);
  const size_t both = std::min(kernels.size(), launches.size()), head = kernels.size() - both;
  GpuEvents& gpu = content.gpu.events;
  for (size_t k = 0; k < both; ++k) {
    const auto kernel = static_cast<size_t>(kernels[head + k]), launch = static_cast<size_t>(launches[k]);
    if (gpu.start[kernel] < content.launches.events.start[launch]) return 0;
  }
  for (size_t k = 0; k < both; ++k) gpu.launch[static_cast<size_t>(kernels[head + k])] = launches[k];
  return static_cast<int64_t>(both);
}

}  // namespace skewscope::ingest
