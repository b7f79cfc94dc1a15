// RankWriter's GPU side: launches, kernels, copies, GPU copies of nccl:* ranges, the synchronization.
#include <algorithm>
#include <utility>

#include "kernel_look.h"
#include "rank_writer.h"

namespace skewscope::simulate {
namespace {

constexpr int32_t kMultiprocessors = 132;  // H100
constexpr int64_t kBytesIn = 1'048'576, kBytesOut = 4, kFillBytes = 65'536;

const KernelLook& communication_look(bool amd) {
  static const KernelLook nvidia_look = {"", "", "", 96, 103808, 24, 544};
  static const KernelLook amd_look = {"", "", "", 0, 0, 56, 256};
  return amd ? amd_look : nvidia_look;
}

// Between groups of arguments; era A wrote one per line.
const char* argument_gap(TraceStyle style) { return style == TraceStyle::era_a ? "\n      " : "      "; }

// The host call and its number: CUPTI's cbid, roctracer's cid.
std::pair<const char*, int32_t> launch_call(OpClass what, bool amd) {
  using Call = std::pair<const char*, int32_t>;
  switch (what) {
    case OpClass::kernel:
      return amd ? Call{"hipLaunchKernel", 107} : Call{"cudaLaunchKernel", 211};
    case OpClass::communication:
      return amd ? Call{"hipExtLaunchKernel", 62} : Call{"cudaLaunchKernelExC", 430};
    case OpClass::memset:
      return amd ? Call{"hipMemsetAsync", 159} : Call{"cudaMemsetAsync", 51};
    case OpClass::memcpy_in:
    case OpClass::memcpy_out:
      break;
  }
  return amd ? Call{"hipMemcpyAsync", 134} : Call{"cudaMemcpyAsync", 41};
}

}  // namespace

void RankWriter::launch_row(const Op& op, const OpTimes& times, const CommunicationText& call, int64_t correlation,
                            const Link& link) {
  const bool amd = job_.options.vendor == TraceVendor::amd;
  const bool communication = op.what == OpClass::communication;
  const auto [name, api] = launch_call(op.what, amd);
  const Place place = layout_.host(op.on_autograd_thread);
  const int64_t at = local(times.launch);
  open_event(text_, layout_.stamps, "cuda_runtime", name, place, at, local(times.launched));
  if (link.external_id != 0) print(text_, "\"External id\": {},      ", link.external_id);
  if (!amd) {
    print(text_, "\"cbid\": {}, \"correlation\": {}", api, correlation);
  } else if (op.what == OpClass::kernel || communication) {
    const KernelLook* look = communication ? nullptr : &kernel_looks()[static_cast<size_t>(op.look)];
    print(text_,
          "    \"kernel\": \"{}\", \"cid\": {}, \"correlation\": {},      \"grid\": [{}, 1, 1],      \"block\": [{}, "
          "1, 1],      \"shared memory\": 0",
          communication ? std::string_view(call.kernel_name) : look->amd_name, api, correlation,
          communication ? 56 : grid_of(op), communication ? 256 : look->block);
  } else if (op.what == OpClass::memset) {
    print(text_, "\"cid\": {}, \"correlation\": {}", api, correlation);
  } else {
    print(text_,
          "\"cid\": {}, \"correlation\": {}, \"src\": \"0x7f0e4a7e8000\", \"dst\": \"0x7f0e79800400\", \"bytes\": "
          "\"{}\", \"kind\": \"{}\"",
          api, correlation, op.what == OpClass::memcpy_in ? kBytesIn : kBytesOut,
          op.what == OpClass::memcpy_in ? 1 : 2);
  }
  close_event(text_);
  if (amd && op.what == OpClass::memset) {
    flow_end(text_, layout_.stamps, correlation, place, at);  // a known oddity of ROCm traces
  } else {
    flow_start(text_, layout_.stamps, correlation, place, at);
  }
}

void RankWriter::gpu_rows_of(int32_t step, const Op& op, const OpTimes& times, const CommunicationText& call,
                             int64_t correlation, const Link& link) {
  const Place place{layout_.device, stream_number(job_, layout_, op.stream)};
  if (op.what == OpClass::kernel || op.what == OpClass::communication) {
    kernel_row(step, op, times, call, correlation, link);
  } else {
    copy_row(op, times, correlation, link);
  }
  flow_end(text_, layout_.stamps, correlation, place, local(times.start));
  if (link.annotation_id == 0 || job_.options.style == TraceStyle::era_a) return;
  open_event(text_, layout_.stamps, "gpu_user_annotation", call.annotation, place, local(times.start) - 1,
             local(times.end) + 1);
  print(text_, "\"External id\": {}", link.annotation_id);
  close_event(text_);
}

void RankWriter::kernel_row(int32_t step, const Op& op, const OpTimes& times, const CommunicationText& call,
                            int64_t correlation, const Link& link) {
  const bool amd = job_.options.vendor == TraceVendor::amd;
  const bool communication = op.what == OpClass::communication;
  const KernelLook& look = communication ? communication_look(amd) : kernel_looks()[static_cast<size_t>(op.look)];
  const int64_t grid = communication ? look.grid : grid_of(op);
  const Place place{layout_.device, stream_number(job_, layout_, op.stream)};
  const char* gap = argument_gap(job_.options.style);
  const std::string_view name =
      communication ? std::string_view(call.kernel_name) : (amd ? look.amd_name : look.nvidia_name);
  open_event(text_, layout_.stamps, "kernel", name, place, local(times.start), local(times.end));
  if (link.external_id != 0) print(text_, "\"External id\": {},{}", link.external_id, gap);
  if (amd) {
    print(text_, "      \"device\": {}, \"stream\": {},      \"correlation\": {}, \"kind\": \"Dispatch Kernel\"",
          layout_.device, place.tid, correlation);
    if (job_.options.style != TraceStyle::era_a) {
      print(text_, ", \"grid\": [{}, 1, 1], \"block\": [{}, 1, 1]", grid, look.block);
    }
  } else {
    const int64_t per_sm = grid * 1'000'000 / kMultiprocessors;  // millionths of blocks per SM
    print(text_,
          "\"queued\": 0, \"device\": {0}, \"context\": 1,{8}\"stream\": {1}, \"correlation\": {2},{8}\"registers per "
          "thread\": {3},{8}\"shared memory\": {4},{8}\"blocks per SM\": {5}.{6:06},{8}\"warps per SM\": {7},{8}",
          layout_.device, place.tid, correlation, look.registers, look.shared_memory, per_sm / 1'000'000,
          per_sm % 1'000'000, grid * (look.block / 32) / kMultiprocessors, gap);
    print(text_, "\"grid\": [{}, 1, 1],{}\"block\": [{}, 1, 1],{}\"est. achieved occupancy %\": {}", grid, gap,
          look.block, gap, std::min<int64_t>(100, grid * look.block / kMultiprocessors / 20));
  }
  if (communication) {
    print_plain(text_, call.kernel_args);
    print_seq(step, op, call);
  }
  close_event(text_);
}

void RankWriter::copy_row(const Op& op, const OpTimes& times, int64_t correlation, const Link& link) {
  const bool in = op.what == OpClass::memcpy_in;
  const bool fill = op.what == OpClass::memset;
  const Place place{layout_.device, stream_number(job_, layout_, op.stream)};
  const char* gap = argument_gap(job_.options.style);
  open_event(text_, layout_.stamps, fill ? "gpu_memset" : "gpu_memcpy", copy_name(op.what), place, local(times.start),
             local(times.end));
  if (link.external_id != 0) print(text_, "\"External id\": {},{}", link.external_id, gap);
  if (job_.options.vendor == TraceVendor::amd) {
    print(text_, "      \"device\": {}, \"stream\": {},      \"correlation\": {}, \"kind\": \"{}\"", layout_.device,
          place.tid, correlation, fill ? "Device" : (in ? "HtoD" : "DtoH"));
  } else {
    const int64_t bytes = fill ? kFillBytes : (in ? kBytesIn : kBytesOut);
    print(text_,
          "\"device\": {}, \"context\": 1,{}\"stream\": {}, \"correlation\": {},{}\"bytes\": {}, \"memory bandwidth "
          "(GB/s)\": {:.6f}",
          layout_.device, gap, place.tid, correlation, gap, bytes,
          static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, times.end - times.start)));
  }
  close_event(text_);
}

// Kineto writes a wait so where it knows the event's record, which comes after the launch of what is waited for.
void RankWriter::stream_wait_row(const Program& program, const RankStep& timeline, size_t row) {
  const auto needed = static_cast<size_t>(program.ops[row].wait_for);
  const int64_t correlation = next_correlation_++, stream = stream_number(job_, layout_, program.ops[row].stream);
  const int64_t at = local(stream_wait_at(timeline.ops[row]));
  open_event(text_, layout_.stamps, "cuda_sync", "Stream Wait Event", {layout_.device, stream}, at, at + 1000);
  print(text_,
        R"("cuda_sync_kind": "Stream Wait Event", "wait_on_stream": {}, "wait_on_cuda_event_record_corr_id": {}, )"
        R"("wait_on_cuda_event_id": {}, "stream": {}, "correlation": {}, "device": {}, "context": 1)",
        stream_number(job_, layout_, program.ops[needed].stream), launched_as_[needed] + 1, needed, stream, correlation,
        layout_.device);
  close_event(text_);
}

void RankWriter::sync_row(const RankStep& timeline, int64_t correlation) {
  const bool amd = job_.options.vendor == TraceVendor::amd;
  const int64_t at = local(timeline.sync_begin);
  open_event(text_, layout_.stamps, "cuda_runtime", amd ? "hipDeviceSynchronize" : "cudaDeviceSynchronize",
             layout_.host(false), at, std::max(at, local(timeline.end) - kSyncTailNs));
  if (job_.options.style == TraceStyle::era_a) print(text_, "\"External id\": {},      ", correlation);
  print(text_, "\"{}\": {}, \"correlation\": {}", amd ? "cid" : "cbid", amd ? 48 : 165, correlation);
  close_event(text_);
  flow_end(text_, layout_.stamps, correlation, layout_.host(false), at);
}

}  // namespace skewscope::simulate
