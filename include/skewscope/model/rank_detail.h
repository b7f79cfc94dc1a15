// Data: what the host did, and how each GPU row ran: the part of a trace that the tables of one GPU ask for and the
// report of a job does not. Read only where asked for (IngestOptions::while_details_last); rows of GpuEvents and
// LaunchEvents are those of the RankTrace of the same file, strings those of its LinkedTrace.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "skewscope/model/rank_trace.h"

namespace skewscope {

enum class HostKind : uint8_t {
  op,          // cpu_op: an operator of the dispatcher, an autograd node, a range of the compiler
  call,        // cuda_runtime, cuda_driver and their HIP forms
  python,      // python_function
  annotation,  // user_annotation
  overhead,    // of the profiler itself: "Activity Buffer Request", …
};

// Complete events of the host, sorted by (thread, start, longest first, place): the order in which a call tree meets
// them.
struct HostEvents {
  std::vector<LocalNs> start;
  std::vector<int64_t> duration_ns;  // >= 0
  std::vector<StringId> name;  // of python functions without addresses (" at 0x7f…"), which make each of them unique
  std::vector<HostKind> kind;
  std::vector<int32_t> thread;          // row in RankDetail::threads
  std::vector<int32_t> place;           // index in traceEvents
  std::vector<int32_t> arguments;       // row in RankDetail::arguments; -1: none recorded
  std::vector<int32_t> sequence;        // "Sequence number", which links a forward op to its backward; -1: none
  std::vector<int32_t> forward_thread;  // "Fwd thread id" of a backward op; 0 elsewhere

  size_t size() const { return start.size(); }
  LocalNs end(size_t row) const { return start[row] + duration_ns[row]; }
};

struct HostThread {
  int64_t process = 0, thread = 0;                // numbers, or what represents texts
  std::string process_name, process_label, name;  // "" where the trace has no such metadata
};

// Arguments of operators, as their JSON text ("[[8, 16], []]", "[\"float\", \"Scalar\"]"); equal ones once. Ids of
// LinkedTrace::strings, none where not recorded.
struct ArgumentSet {
  StringId dims, types, strides, values;  // "Input Dims", "Input type", "Input Strides", "Concrete Inputs"
  StringId kernel_file, kernel_backend;   // "kernel_file", "kernel_backend" of Triton kernels that a compiler wrote
  StringId call_stack;                    // "Call stack" of PyTorch 1.8 to 1.12: frames, innermost first, each with ";"

  bool operator==(const ArgumentSet&) const = default;
};

// How a kernel ran; equal ones once. -1: not recorded (as for AMD, where only grid and block are).
struct KernelShape {
  int64_t grid[3] = {-1, -1, -1}, block[3] = {-1, -1, -1};
  int32_t registers = -1;      // per thread
  int32_t shared_memory = -1;  // bytes per block
  double blocks_per_sm = -1;   // of the grid over the device's SMs
  double warps_per_sm = -1;
  double occupancy_percent = -1;  // "est. achieved occupancy %"

  bool operator==(const KernelShape&) const = default;
};

// An instruction of a compiled program (an HLO operation of XLA) that GPU rows are of. Strings as above.
struct DeviceOperation {
  StringId name, module;           // "fusion.3" of "jit_step"
  StringId program;                // its number: of two programs with one name
  StringId category;               // as XLA calls it: "loop fusion"; none: not known
  int64_t flops = -1, bytes = -1;  // of one execution, as XLA says; -1: it does not
  int64_t input_bytes = -1;        // of its operands, by their shapes; -1: the program is not in the file
};

// Next to GpuEvents: row = row there.
struct GpuDetails {
  std::vector<int32_t> caller;     // row in HostEvents of the call that launched it; -1: the tracer made no row of it
  std::vector<int32_t> place;      // index in traceEvents
  std::vector<int32_t> shape;      // row in RankDetail::shapes; -1: none (copies, fills)
  std::vector<int32_t> operation;  // row in RankDetail::operations; -1: none
  std::vector<int64_t> bytes;      // of a copy or fill; -1: not recorded
  std::vector<double> gb_per_s;    // "memory bandwidth (GB/s)", by the tracer's own clock; -1: not recorded

  size_t size() const { return caller.size(); }
};

// gpu_user_annotation: the range of an annotation on a stream. Sorted by start.
struct GpuAnnotations {
  std::vector<LocalNs> start;
  std::vector<int64_t> duration_ns;
  std::vector<StringId> name;
  std::vector<int32_t> device, stream;

  size_t size() const { return start.size(); }
};

// "[memory]": an allocation or a free. Sorted by time.
struct MemoryEvents {
  std::vector<LocalNs> at;
  std::vector<int64_t> bytes;  // below 0: freed
  std::vector<int64_t> address;
  std::vector<int64_t> allocated, reserved;  // in all on the device, afterwards
  std::vector<int32_t> device;               // -1: the host
  std::vector<int32_t> thread;               // row in RankDetail::threads

  size_t size() const { return at.size(); }
};

// deviceProperties; -1 or "" where not known.
struct DeviceProperties {
  std::string name;
  int64_t memory_bytes = -1;
  int32_t sms = -1;  // compute units on AMD
  int32_t threads_per_sm = -1;
  int32_t warp_size = -1;
  int32_t compute_major = -1, compute_minor = -1;
};

// Next to RankTrace::calls: row = row there. Texts as written; none where absent.
struct CallDetails {
  std::vector<StringId> name;   // "Collective name"
  std::vector<StringId> dtype;  // "dtype"
  std::vector<StringId> group_name, group_ranks;
  std::vector<int64_t> group_size;            // -1: absent
  std::vector<StringId> in_split, out_split;  // "In split size", "Out split size"

  size_t size() const { return name.size(); }
};

struct RankDetail {
  HostEvents host;
  std::vector<HostThread> threads;  // sorted by (process, thread)
  std::vector<ArgumentSet> arguments;
  std::vector<KernelShape> shapes;
  std::vector<DeviceOperation> operations;
  GpuDetails gpu;
  GpuAnnotations gpu_annotations;
  MemoryEvents memory;
  CallDetails calls;
  std::vector<DeviceProperties> devices;  // by device id
  int64_t base_time_ns = 0;               // baseTimeNanoseconds: what the time stamps of the file count from
  LocalNs earlier_end;         // of the GPU rows that --steps left out and that ended before the first one kept began
  bool has_python = false;     // python_function rows were in the trace (with_stack)
  bool has_arguments = false;  // shapes were recorded (record_shapes)
};

// Visits the columns one by one, constant or not.
template <class Events, class Visit>
requires std::same_as<std::remove_const_t<Events>, HostEvents>
void for_each_column(Events& host, const Visit& visit) {
  visit(host.start);
  visit(host.duration_ns);
  visit(host.name);
  visit(host.kind);
  visit(host.thread);
  visit(host.place);
  visit(host.arguments);
  visit(host.sequence);
  visit(host.forward_thread);
}

template <class Events, class Visit>
requires std::same_as<std::remove_const_t<Events>, GpuDetails>
void for_each_column(Events& gpu, const Visit& visit) {
  visit(gpu.caller);
  visit(gpu.place);
  visit(gpu.shape);
  visit(gpu.operation);
  visit(gpu.bytes);
  visit(gpu.gb_per_s);
}

template <class Events, class Visit>
requires std::same_as<std::remove_const_t<Events>, GpuAnnotations>
void for_each_column(Events& annotations, const Visit& visit) {
  visit(annotations.start);
  visit(annotations.duration_ns);
  visit(annotations.name);
  visit(annotations.device);
  visit(annotations.stream);
}

template <class Events, class Visit>
requires std::same_as<std::remove_const_t<Events>, MemoryEvents>
void for_each_column(Events& memory, const Visit& visit) {
  visit(memory.at);
  visit(memory.bytes);
  visit(memory.address);
  visit(memory.allocated);
  visit(memory.reserved);
  visit(memory.device);
  visit(memory.thread);
}

template <class Events, class Visit>
requires std::same_as<std::remove_const_t<Events>, CallDetails>
void for_each_column(Events& calls, const Visit& visit) {
  visit(calls.name);
  visit(calls.dtype);
  visit(calls.group_name);
  visit(calls.group_ranks);
  visit(calls.group_size);
  visit(calls.in_split);
  visit(calls.out_split);
}

// Empty when columns have equal lengths, rows are sorted, indexes are in range; else the first violation, in words.
std::string check_invariants(const RankDetail& detail, const RankTrace& trace);

}  // namespace skewscope
