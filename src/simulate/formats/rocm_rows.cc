#include "rocm_rows.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "collectives/kind.h"

namespace skewscope::simulate {
namespace {

// All kernels of RCCL are called that.
constexpr std::string_view kGenericKernel = "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)";
constexpr const char* kLaunchCall = "hipLaunchKernel";

const char* rccl_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
      return "ncclAllGather";
    case CollectiveKind::reduce_scatter:
      return "ncclReduceScatter";
    case CollectiveKind::all_to_all:
      return "ncclAllToAll";
    case CollectiveKind::send:
      return "ncclSend";
    case CollectiveKind::recv:
      return "ncclRecv";
    default:  // all that a simulated job has besides
      return "ncclAllReduce";
  }
}

RocmOperation operation_of(const SimulatedRank& rank, size_t row) {
  const GpuEvents& gpu = rank.file.linked.trace.gpu;
  RocmOperation operation;
  operation.start_ns = gpu.start[row].ns;
  operation.end_ns = operation.start_ns + gpu.duration_ns[row];
  operation.stream = gpu.stream[row];
  operation.launch = gpu.launch[row] < 0 ? 0 : gpu.launch[row] + int64_t{1};
  const std::string_view name = rank.file.linked.strings.view(gpu.name[row]);
  if (rank.blocks[row] > 0) operation.blocks = rank.blocks[row];
  switch (gpu.work[row]) {
    case GpuWork::memcpy:
      operation.is_copy = true;
      operation.to_host = name.find("DtoH") != std::string_view::npos;
      operation.name = operation.to_host ? "MEMORY_COPY_DEVICE_TO_HOST" : "MEMORY_COPY_HOST_TO_DEVICE";
      break;
    case GpuWork::memset:
      operation.name = "__amd_rocclr_fillBufferAligned";
      break;
    case GpuWork::communication:
      operation.name = kGenericKernel;
      break;
    case GpuWork::compute:
      operation.name = name;
  }
  return operation;
}

// By launch.
std::vector<const char*> names_of_launches(const RankTrace& trace) {
  std::vector<const char*> names(trace.launches.size(), kLaunchCall);
  for (size_t row = 0; row < trace.gpu.size(); ++row) {
    if (trace.gpu.launch[row] < 0) continue;
    const char*& name = names[static_cast<size_t>(trace.gpu.launch[row])];
    if (trace.gpu.work[row] == GpuWork::memcpy) name = "hipMemcpyAsync";
    if (trace.gpu.work[row] == GpuWork::memset) name = "hipMemsetAsync";
  }
  return names;
}

}  // namespace

void walk_rocm_rows(const SimulatedRank& rank, RocmRows& rows) {
  const RankTrace& trace = rank.file.linked.trace;
  const LaunchEvents& launches = trace.launches;
  for (size_t row = 0; row < trace.gpu.size(); ++row) rows.add(operation_of(rank, row));
  const std::vector<const char*> names = names_of_launches(trace);
  auto number = static_cast<int64_t>(launches.size());
  const auto add = [&](RocmCallKind kind, LocalNs start, int64_t duration_ns, int64_t thread, int64_t of,
                       std::string_view name) {
    rows.add(RocmCall{kind, start.ns, start.ns + duration_ns, thread, of, name});
  };
  for (size_t i = 0; i < launches.size(); ++i) {
    add(RocmCallKind::hip, launches.start[i], launches.duration_ns[i], launches.thread[i], static_cast<int64_t>(i) + 1,
        names[i]);
  }
  for (const LostLaunch& lost : rank.lost_launches) {
    add(RocmCallKind::hip, lost.at, 5000, rank.main_thread, ++number, kLaunchCall);
    if (lost.by_collective) add(RocmCallKind::rccl, lost.at, 5001, rank.main_thread, 0, "ncclAllReduce");
  }
  for (const CollectiveCall& call : trace.calls) {  // around its launch
    const int32_t launch = call.gpu_row < 0 ? -1 : trace.gpu.launch[static_cast<size_t>(call.gpu_row)];
    if (launch < 0) continue;
    const auto at = static_cast<size_t>(launch);
    add(RocmCallKind::rccl, launches.start[at], launches.duration_ns[at] + 1, launches.thread[at], 0,
        rccl_name(call.kind));
  }
  for (const SynchronizingCall& call : trace.synchronizing) {
    add(RocmCallKind::hip, call.start, call.duration_ns, rank.main_thread, ++number, "hipDeviceSynchronize");
  }
  for (const StepRange& step : trace.steps) {
    const std::string name = fmt::format("ProfilerStep#{}", step.number);
    add(RocmCallKind::marker, step.start, step.duration_ns, rank.main_thread, 0, name);
  }
}

}  // namespace skewscope::simulate
