#include "rank_writer.h"

#include <algorithm>

#include "kernel_look.h"

namespace skewscope::simulate {
namespace {

constexpr size_t kFlushBytes = 1 << 20;

const CommunicationText& no_call() {
  static const CommunicationText none;
  return none;
}

}  // namespace

RankWriter::RankWriter(const Job& job, int32_t rank, const std::string& directory)
    : job_(job),
      rank_(rank),
      clock_(job.clocks[static_cast<size_t>(rank)]),
      layout_(make_layout(job, rank)),
      file_name_(fmt::format("rank{}_trace.json{}", rank, compression_suffix(job.options.compression))),
      sink_(directory + "/" + file_name_, job.options.compression) {
  for (const Op& op : job.program(rank).ops) {
    const bool communication = op.what == OpClass::communication;
    calls_.push_back(communication ? communication_text(job, rank, op) : no_call());
  }
}

bool RankWriter::flush_if_full() {
  if (text_.size() < kFlushBytes) return true;
  const bool written = sink_.write({text_.data(), text_.size()});
  text_.clear();
  return written;
}

bool RankWriter::write_step(int32_t step, const RankStep& timeline) {
  if (!begun_) {
    begun_ = true;
    first_ns_ = local(timeline.begin);
    print_head(text_, job_, rank_, layout_);
  }
  last_ns_ = local(timeline.end);
  const Program& program = job_.program(rank_);
  step_annotations(step, timeline);
  if (job_.options.vendor == TraceVendor::cpu) {
    gloo_rows(step, timeline);
    return flush_if_full();
  }
  std::vector<Link> links;
  for (size_t row = 0; row < program.ops.size(); ++row) {
    links.push_back(cpu_rows(step, program.ops[row], timeline.ops[row], row));
    if (!flush_if_full()) return false;
  }
  wait_row(timeline);
  for (size_t row = 0; row < program.ops.size(); ++row) {
    const int64_t correlation = next_correlation_++;
    Link link = links[row];
    if (job_.options.style == TraceStyle::era_a) link.external_id = correlation;
    launch_row(program.ops[row], timeline.ops[row], calls_[row], correlation, link);
    if (job_.kernel_lost(step, rank_, static_cast<int32_t>(row))) {
      ++lost_rows_;
    } else {
      ++gpu_rows_;
      gpu_rows_of(step, program.ops[row], timeline.ops[row], calls_[row], correlation, link);
    }
    if (!flush_if_full()) return false;
  }
  sync_row(timeline, next_correlation_++);
  return flush_if_full();
}

bool RankWriter::finish() {
  if (!begun_) print_head(text_, job_, rank_, layout_);
  print_tail(text_, job_, layout_, file_name_, first_ns_, last_ns_);
  const bool written = sink_.write({text_.data(), text_.size()}) && sink_.close();
  text_ = Text();
  return written;
}

// Opens a row that has an External id; returns the id. The caller closes it.
int64_t RankWriter::open_range(std::string_view category, std::string_view name, Place place, int64_t begin_true,
                               int64_t end_true) {
  open_event(text_, layout_.stamps, category, name, place, local(begin_true), local(end_true));
  const int64_t id = next_external_++;
  if (job_.options.style == TraceStyle::era_a) {
    print(text_, "\"External id\": {},\"Ev Idx\": {}", id, next_event_++);
  } else {
    print(text_, "\"External id\": {},\"Record function id\": {}, ", id, 0);
  }
  return id;
}

void RankWriter::step_annotations(int32_t step, const RankStep& timeline) {
  const bool old = job_.options.style == TraceStyle::era_a;
  const Place main = layout_.host(false);
  const auto close = [&] {
    if (!old) print(text_, "\"Ev Idx\": {}", next_event_++);
    close_event(text_);
  };
  const std::string name = fmt::format("ProfilerStep#{}", job_.options.first_step + step);
  const int64_t id = open_range("user_annotation", name, main, timeline.begin, timeline.end);
  close();
  if (timeline.gap_end > timeline.gap_begin) {
    open_range("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", main,
               timeline.gap_begin, timeline.gap_end);
    close();
  }
  if (old || job_.options.vendor == TraceVendor::cpu) return;
  int64_t begin = timeline.end, end = timeline.begin;
  for (size_t row = 0; row < timeline.ops.size(); ++row) {
    if (job_.program(rank_).ops[row].stream != kComputeStream) continue;
    begin = std::min(begin, timeline.ops[row].start);
    end = std::max(end, timeline.ops[row].end);
  }
  open_event(text_, layout_.stamps, "gpu_user_annotation", name,
             {layout_.device, stream_number(job_, layout_, kComputeStream)}, local(begin) - 1, local(end) + 1);
  print(text_, "\"External id\": {}", id);
  close_event(text_);
}

void RankWriter::print_seq(int32_t step, const Op& op, const CommunicationText& call) {
  if (job_.options.style != TraceStyle::era_e) return;
  const int64_t seq = job_.seq(step, rank_, op);
  print(text_, ", \"Seq\": {}, \"Comms Id\": {}", seq, comms_id(call, seq, op.p2p_index >= 0));
}

void RankWriter::launch_row(const Op& op, const OpTimes& times, const CommunicationText& call, int64_t correlation,
                            const Link& link) {
  const bool amd = job_.options.vendor == TraceVendor::amd;
  const bool communication = op.what == OpClass::communication;
  const char* name = nullptr;
  int32_t api = 0;  // CUPTI cbid, roctracer cid
  switch (op.what) {
    case OpClass::kernel:
      name = amd ? "hipLaunchKernel" : "cudaLaunchKernel";
      api = amd ? 107 : 211;
      break;
    case OpClass::communication:
      name = amd ? "hipExtLaunchKernel" : "cudaLaunchKernelExC";
      api = amd ? 62 : 430;
      break;
    case OpClass::memset:
      name = amd ? "hipMemsetAsync" : "cudaMemsetAsync";
      api = amd ? 159 : 51;
      break;
    case OpClass::memcpy_in:
    case OpClass::memcpy_out:
      name = amd ? "hipMemcpyAsync" : "cudaMemcpyAsync";
      api = amd ? 134 : 41;
      break;
  }
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
          communication ? 56 : look->grid, communication ? 256 : look->block);
  } else if (op.what == OpClass::memset) {
    print(text_, "\"cid\": {}, \"correlation\": {}", api, correlation);
  } else {
    print(text_,
          "\"cid\": {}, \"correlation\": {}, \"src\": \"0x7f0e4a7e8000\", \"dst\": \"0x7f0e79800400\", \"bytes\": "
          "\"{}\", \"kind\": \"{}\"",
          api, correlation, op.what == OpClass::memcpy_in ? 1048576 : 4, op.what == OpClass::memcpy_in ? 1 : 2);
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
  gpu_row(step, op, times, call, correlation, link);
  flow_end(text_, layout_.stamps, correlation, place, local(times.start));
  if (link.annotation_id == 0 || job_.options.style == TraceStyle::era_a) return;
  open_event(text_, layout_.stamps, "gpu_user_annotation", call.annotation, place, local(times.start) - 1,
             local(times.end) + 1);
  print(text_, "\"External id\": {}", link.annotation_id);
  close_event(text_);
}

void RankWriter::gpu_row(int32_t step, const Op& op, const OpTimes& times, const CommunicationText& call,
                         int64_t correlation, const Link& link) {
  const bool amd = job_.options.vendor == TraceVendor::amd;
  const bool communication = op.what == OpClass::communication;
  const Place place{layout_.device, stream_number(job_, layout_, op.stream)};
  const int64_t start = local(times.start), end = local(times.end);
  // Era A wrote one argument per line.
  const char* gap = job_.options.style == TraceStyle::era_a ? "\n      " : "      ";
  const auto external_id = [&] {
    if (link.external_id != 0) print(text_, "\"External id\": {},{}", link.external_id, gap);
  };
  if (op.what == OpClass::kernel || communication) {
    const KernelLook* look = communication ? nullptr : &kernel_looks()[static_cast<size_t>(op.look)];
    const std::string_view name =
        communication ? std::string_view(call.kernel_name) : (amd ? look->amd_name : look->nvidia_name);
    const int32_t grid = communication ? (amd ? 56 : 24) : look->grid;
    const int32_t block = communication ? (amd ? 256 : 544) : look->block;
    open_event(text_, layout_.stamps, "kernel", name, place, start, end);
    external_id();
    if (amd) {
      print(text_, "      \"device\": {}, \"stream\": {},      \"correlation\": {}, \"kind\": \"Dispatch Kernel\"",
            layout_.device, place.tid, correlation);
      if (job_.options.style != TraceStyle::era_a)
        print(text_, ", \"grid\": [{}, 1, 1], \"block\": [{}, 1, 1]", grid, block);
    } else {
      const int64_t per_sm = int64_t{grid} * 1000000 / 132;  // millionths of blocks per SM
      print(
          text_,
          "\"queued\": 0, \"device\": {0}, \"context\": 1,{8}\"stream\": {1}, \"correlation\": {2},{8}\"registers per "
          "thread\": {3},{8}\"shared memory\": {4},{8}\"blocks per SM\": {5}.{6:06},{8}\"warps per SM\": {7},{8}",
          layout_.device, place.tid, correlation, communication ? 96 : look->registers,
          communication ? 103808 : look->shared_memory, per_sm / 1000000, per_sm % 1000000, grid * (block / 32) / 132,
          gap);
      print(text_, "\"grid\": [{}, 1, 1],{}\"block\": [{}, 1, 1],{}\"est. achieved occupancy %\": {}", grid, gap, block,
            gap, communication ? 0 : std::min(100, grid * block / 132 / 20));
    }
    if (communication) {
      print_plain(text_, call.kernel_args);
      print_seq(step, op, call);
    }
  } else {
    const bool in = op.what == OpClass::memcpy_in;
    const bool memset = op.what == OpClass::memset;
    open_event(text_, layout_.stamps, memset ? "gpu_memset" : "gpu_memcpy",
               memset ? "Memset (Device)" : (in ? "Memcpy HtoD (Pinned -> Device)" : "Memcpy DtoH (Device -> Pinned)"),
               place, start, end);
    external_id();
    if (amd) {
      print(text_, "      \"device\": {}, \"stream\": {},      \"correlation\": {}, \"kind\": \"{}\"", layout_.device,
            place.tid, correlation, memset ? "Device" : (in ? "HtoD" : "DtoH"));
    } else {
      const int64_t bytes = memset ? 65536 : (in ? 1048576 : 4);
      print(text_,
            "\"device\": {}, \"context\": 1,{}\"stream\": {}, \"correlation\": {},{}\"bytes\": {}, \"memory bandwidth "
            "(GB/s)\": {:.6f}",
            layout_.device, gap, place.tid, correlation, gap, bytes,
            static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, end - start)));
    }
  }
  close_event(text_);
}

void RankWriter::sync_row(const RankStep& timeline, int64_t correlation) {
  const bool amd = job_.options.vendor == TraceVendor::amd;
  const int64_t at = local(timeline.sync_begin);
  open_event(text_, layout_.stamps, "cuda_runtime", amd ? "hipDeviceSynchronize" : "cudaDeviceSynchronize",
             layout_.host(false), at, std::max(at, local(timeline.end) - 50'000));
  if (job_.options.style == TraceStyle::era_a) print(text_, "\"External id\": {},      ", correlation);
  print(text_, "\"{}\": {}, \"correlation\": {}", amd ? "cid" : "cbid", amd ? 48 : 165, correlation);
  close_event(text_);
  flow_end(text_, layout_.stamps, correlation, layout_.host(false), at);
}

}  // namespace skewscope::simulate
