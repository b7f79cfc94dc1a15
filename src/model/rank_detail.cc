#include "skewscope/model/rank_detail.h"

#include <tuple>

#include "at_row.h"

namespace skewscope {
namespace {

bool in_range(int32_t row, size_t size) { return row >= -1 && row < static_cast<int64_t>(size); }

template <class Events>
bool ragged(const Events& events) {
  bool equal = true;
  for_each_column(events, [&](const auto& column) { equal = equal && column.size() == events.size(); });
  return !equal;
}

std::string check_host(const RankDetail& detail) {
  const HostEvents& host = detail.host;
  const size_t n = host.size();
  if (ragged(host)) return "host columns differ in length";
  const auto key = [&](size_t i) {
    return std::make_tuple(host.thread[i], host.start[i], -host.duration_ns[i], host.place[i]);
  };
  for (size_t i = 0; i < n; ++i) {
    if (host.duration_ns[i] < 0) return at_row("negative host duration", i);
    if (host.thread[i] < 0 || !in_range(host.thread[i], detail.threads.size())) return at_row("thread out of range", i);
    if (!in_range(host.arguments[i], detail.arguments.size())) return at_row("arguments out of range", i);
    if (i > 0 && key(i - 1) > key(i)) return at_row("host rows not sorted by (thread, start, longest first, place)", i);
  }
  return "";
}

std::string check_gpu(const RankDetail& detail, const RankTrace& trace) {
  const GpuDetails& gpu = detail.gpu;
  const size_t n = trace.gpu.size();
  if (gpu.size() != n || ragged(gpu)) {
    return "GPU details differ in length from the GPU rows";
  }
  for (size_t i = 0; i < n; ++i) {
    if (!in_range(gpu.caller[i], detail.host.size())) return at_row("caller out of range", i);
    if (gpu.caller[i] >= 0 && detail.host.kind[static_cast<size_t>(gpu.caller[i])] != HostKind::call) {
      return at_row("caller that is no runtime call", i);
    }
    if (gpu.caller[i] >= 0 && trace.gpu.launch[i] < 0) return at_row("caller without launch", i);
    if (!in_range(gpu.shape[i], detail.shapes.size())) return at_row("kernel shape out of range", i);
    if (!in_range(gpu.operation[i], detail.operations.size())) return at_row("device operation out of range", i);
  }
  return "";
}

}  // namespace

std::string check_invariants(const RankDetail& detail, const RankTrace& trace) {
  if (std::string broken = check_host(detail); !broken.empty()) return broken;
  if (std::string broken = check_gpu(detail, trace); !broken.empty()) return broken;
  if (detail.calls.size() != trace.calls.size() || ragged(detail.calls)) {
    return "details of calls differ in length from the calls";
  }
  if (ragged(detail.memory)) return "columns of memory events differ in length";
  for (size_t i = 0; i < detail.memory.size(); ++i) {
    if (!in_range(detail.memory.thread[i], detail.threads.size())) return at_row("thread of memory out of range", i);
    if (i > 0 && detail.memory.at[i - 1] > detail.memory.at[i]) return at_row("memory events not sorted by time", i);
  }
  if (ragged(detail.gpu_annotations)) return "columns of GPU annotations differ in length";
  for (size_t i = 1; i < detail.gpu_annotations.size(); ++i) {
    if (detail.gpu_annotations.start[i - 1] > detail.gpu_annotations.start[i]) {
      return at_row("GPU annotations not sorted by start", i);
    }
  }
  return "";
}

}  // namespace skewscope
