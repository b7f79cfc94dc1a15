// Data: what the operators of one trace did on the host and on the GPU; exact, in integer nanoseconds. Texts are copied
// out, so that the tables outlive the trace.
//
// Launcher of a GPU row: the innermost operator around the call that launched it; the call itself where no operator is;
// none where the launch was not recorded ("orphan"). One run of a launcher is one instance of it. Direct time of an
// instance: union of the GPU rows it launched itself; subtree time: union of the rows launched by it and by all that
// ran within it on its thread. Communication rows are in the table of collectives; the tables of launchers leave them
// out of direct time.
//
// Recompute: an operator that activation checkpointing runs a second time during backward (torch.utils.checkpoint);
// known only where python functions were recorded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skewscope/model/critical_path.h"
#include "skewscope/model/execution_summary.h"
#include "skewscope/model/memory_tables.h"
#include "skewscope/model/rank_detail.h"
#include "skewscope/model/rank_trace.h"

namespace skewscope {

// How a set of durations spreads. Deviation: of the sample (n - 1), 0 for one.
struct TimeSpread {
  int64_t count = 0;
  int64_t sum_ns = 0, min_ns = 0, max_ns = 0;
  double median_ns = 0, deviation_ns = 0;

  double mean_ns() const { return count == 0 ? 0 : static_cast<double>(sum_ns) / static_cast<double>(count); }
};

// How the speeds of instances spread: 1 / GPU time, per second. Times FLOPs of one instance: FLOP/s; times its bytes:
// bytes/s. Instances without GPU time are left out; all 0 where none has any.
struct RateSpread {
  double mean = 0, median = 0, deviation = 0, min = 0, max = 0;
};

// All launchers of one category (efficiency/categories.h). Orphans are under the category that their kernel's name
// tells, one instance each.
struct CategoryRow {
  std::string category;
  bool recompute = false;
  int64_t count = 0;  // instances
  int64_t direct_ns = 0;
  double share = 0;             // of the direct time of all rows
  double cumulative_share = 0;  // of this row and those before it
};

// All rows of one operator or call name. Host and device times as in the profiler's own table (key_averages): plain
// sums over instances, so that a recursive operator counts its inner runs again and parallel streams count twice.
struct OperatorRow {
  std::string name;
  bool recompute = false;
  std::vector<std::string> categories;    // of its launching instances, sorted
  int64_t calls = 0;                      // instances
  int64_t launches = 0;                   // instances that launched GPU rows themselves
  int64_t direct_ns = 0, subtree_ns = 0;  // sums over launching instances
  int64_t host_self_ns = 0, host_total_ns = 0;
  int64_t device_self_ns = 0;   // sum of the GPU rows whose launch has this as innermost operator
  int64_t device_total_ns = 0;  // and of those launched within
  double share = 0;             // direct_ns of that of all rows
  double cumulative_share = 0;  // of this row and those before it
  // Allocated less freed: by the operator itself, and with what ran within it; on the host, and on all GPUs.
  int64_t host_memory_self_bytes = 0, host_memory_bytes = 0;
  int64_t gpu_memory_self_bytes = 0, gpu_memory_bytes = 0;
};

// Forward operators of one name and the nodes of the backward pass that belong to them (by sequence number).
struct OperatorPassRow {
  std::string forward, backward;
  int64_t calls = 0;  // pairs
  int64_t forward_host_ns = 0, backward_host_ns = 0;
  int64_t forward_gpu_ns = 0, backward_gpu_ns = 0;  // unions of the GPU rows launched within
};

// Kernels by where the program asked for them: the launcher, and the operators and python functions around it. The 200
// with most GPU time.
struct CallStackRow {
  std::string name;  // of the GPU rows
  std::string launcher;
  std::string stack;     // innermost first, one a line; at most 40; begins with the launcher
  int64_t launches = 0;  // GPU rows
  int64_t gpu_ns = 0;    // their sum
};

// The rows that are at one position among the GPU rows of an instance.
struct KernelPosition {
  std::string name;  // in the first instance
  int32_t stream = -1;
  TimeSpread time;
};

// The arguments of an operator's calls, as recorded: JSON texts ("[[8, 16], []]"); "" where not recorded.
struct ArgumentsText {
  std::string dims, types, strides, values;
};

// All launching instances of one operator with equal arguments in one thread.
struct ArgumentsRow {
  std::string name, category;
  bool recompute = false;
  std::string process_name, process_label, thread_name;
  ArgumentsText arguments;
  int32_t first_place = -1;  // of the earliest instance in traceEvents
  TimeSpread direct, subtree;
  // One per GPU row that the first instance launched itself; instances with another number of rows are left out.
  std::vector<KernelPosition> kernels;
  double share = 0;  // of the direct time of all rows
};

// GPU rows of one name on one stream with one shape under one launcher name.
struct KernelRow {
  std::string category, launcher;  // "" for orphans
  std::string name;
  GpuWork work = GpuWork::compute;
  bool kernel = false;  // false: a copy or fill by the driver
  int32_t device = -1, stream = -1;
  int64_t grid[3] = {-1, -1, -1}, block[3] = {-1, -1, -1};  // -1: not recorded
  int32_t registers = -1, shared_memory = -1;               // per thread; bytes per block
  int64_t count = 0, sum_ns = 0, min_ns = 0, max_ns = 0;
  // Launches for which the library had asked right before, in the same operator, how many blocks fit on an SM: it
  // adapts the grid to the device.
  int64_t after_occupancy_query = 0;
  double share = 0;  // of the sum of all rows

  double mean_ns() const { return count == 0 ? 0 : static_cast<double>(sum_ns) / static_cast<double>(count); }
};

// Kernels shorter than the threshold: how many lie in [from_ns, to_ns); the last bin holds its upper end too.
struct ShortBin {
  double from_ns = 0, to_ns = 0;
  int64_t count = 0;
};

struct ShortKernelRow {
  std::string launcher;
  ArgumentsText arguments;
  std::string name;
  int64_t count = 0, sum_ns = 0;
};

// Equal calls of this rank on one stream. -1 and "" where not recorded.
struct OwnCollectiveRow {
  std::string group_name, group_ranks, name, dtype;
  int64_t group_size = -1, in_elements = -1, out_elements = -1;
  int64_t in_bytes = -1, out_bytes = -1;
  std::string in_split, out_split;
  int32_t stream = -1;
  TimeSpread time;
};

// One argument set of operators whose work is known, or that launched GPU rows without being part of such an operator.
// The outermost operator with known work represents all that ran within it; GPU rows left over are as
// "<launcher>-><kernel>". Orphans and communication rows on their own have no work.
struct WorkRow {
  std::string name, category;
  bool recompute = false;
  std::string process_name, process_label, thread_name;
  ArgumentsText arguments;
  int32_t first_place = -1;
  bool leftover = false;        // a row "<launcher>-><kernel>"
  bool known_operator = false;  // there are formulas for it
  TimeSpread host, gpu;         // durations of the instances; unions of their GPU rows
  RateSpread per_second;
  int64_t flops = -1, bytes = -1;  // of one instance; -1: not known
  std::string unknown;             // why
  std::string compute, precision;  // "matrix", "bf16"; "" where not known
  std::string parameters;          // "M=8944 N=2816 …"
  std::string bound;               // "compute", "memory"; "" where the device's peaks or the work are not known
  double roofline_ns = 0;          // the least time that an instance can take; 0: not known
  double share = 0;                // of the GPU time of all rows
  std::vector<KernelPosition> kernels;
};

// One nn.Module instance ("nn.Module: Linear_0"): its calls.
struct ModuleRow {
  std::string name;
  std::string parent;  // the module that its first call ran within; "": none
  int64_t calls = 0;
  int64_t host_self_ns = 0, host_total_ns = 0;  // self: without the modules called within
  int64_t gpu_ns = 0;                           // union of the GPU rows launched within
  int64_t backward_gpu_ns = 0;                  // union of the rows that backward launched for operators within
};

// User annotations of one name, on the host (record_function, ProfilerStep#N) or as ranges on the GPU.
struct AnnotationRow {
  std::string name;
  bool on_gpu = false;
  int64_t count = 0;
  int64_t total_ns = 0;  // sum of the ranges
  // Union of the GPU rows launched within, on the thread of the annotation; of the ranges themselves (GPU). What all
  // threads launched within a step is in RankTables::timeline.
  int64_t gpu_ns = 0;
  // From the begin of a range to that of the first operator in it: Python, data loading. Ranges without are left out.
  int64_t with_operators = 0, before_first_operator_ns = 0;
};

// Regions that torch.compile made: one row per "frame/compile id".
struct CompiledRegionRow {
  std::string name;
  int64_t frame = -1, compile = -1;  // -1: the plain name of before 2.5
  int64_t calls = 0;
  int64_t nested = 0;              // calls within another region: each follows a graph break
  std::vector<std::string> outer;  // names of the regions that those stood in
  int64_t host_ns = 0, gpu_ns = 0;
  int64_t cache_lookup_ns = 0;  // of the look-ups right before its calls: checking the guards
  int64_t prologue_ns = 0;      // within it, before the compiled code: preparing inputs
  bool recompiled = false;      // compile id above 0, or several compile ids of the frame in the trace
};

// The work of compiled code around its kernels, per name: cache look-ups, prologues, "CompiledFunction",
// "CompiledFunctionBackward",
// "## Call CompiledFxGraph <hash>", compilation.
enum class CompileEvent : uint8_t { cache_lookup, prologue, forward, backward, graph_call, compilation };
const char* to_string(CompileEvent event);

struct CompileEventRow {
  CompileEvent event = CompileEvent::cache_lookup;
  std::string name;
  int64_t count = 0;
  int64_t host_ns = 0, gpu_ns = 0;  // sums over calls
};

// Triton kernels by who wrote them: the compiler (launched under an operator triton_*, or one that tells the backend)
// or the user (cuLaunchKernel with a kernel and no such operator).
struct TritonRow {
  std::string name;
  bool by_compiler = false;
  std::string file;  // generated source, where recorded
  int64_t count = 0, sum_ns = 0;
};

// Launches of captured graphs, per name of the call and number of GPU rows it put on the GPU.
struct GraphLaunchRow {
  std::string name;      // cudaGraphLaunch, hipGraphLaunch
  int64_t gpu_rows = 0;  // per launch
  int64_t launches = 0;
  int64_t host_ns = 0;  // sum of the calls
  int64_t sum_ns = 0;   // of the GPU rows
  int64_t busy_ns = 0;  // their union, summed over launches
};

struct OperatorTables {
  std::vector<CategoryRow> categories;
  std::vector<OperatorRow> operators;
  std::vector<OperatorPassRow> passes;  // most GPU time first
  std::vector<CallStackRow> stacks;     // the same
  MemoryTables memory;                  // empty where no memory events were recorded
  std::vector<ArgumentsRow> arguments;
  std::vector<KernelRow> kernels;
  std::vector<ShortBin> short_bins;
  std::vector<ShortKernelRow> short_kernels;
  std::vector<OwnCollectiveRow> collectives;
  std::vector<WorkRow> work;
  std::vector<ModuleRow> modules;
  std::vector<AnnotationRow> annotations;
  std::vector<CompiledRegionRow> regions;
  std::vector<CompileEventRow> compile_events;
  std::vector<TritonRow> triton;
  std::vector<GraphLaunchRow> graphs;
  CriticalPath critical_path;
  std::vector<ExecutionRow> execution;  // by step
  int64_t compiling_ns = 0;             // while any range of CompileEvent::compilation ran: parts lie within parts
};

// Empty when the figures of every row fit each other and tables of the same time sum up alike; else the first that does
// not, in words.
std::string check_invariants(const OperatorTables& tables);

}  // namespace skewscope
