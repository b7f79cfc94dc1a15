// The rows of one trace's tables about its operators, modules, compiled code and critical path, described once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "field.h"
#include "skewscope/model/operator_tables.h"

namespace skewscope::report {

struct CategoryFields {
  using Row = CategoryRow;
  static constexpr About kAbout = {"operator_categories", "operator_categories", "launchers of one category"};
  static constexpr auto kFields =
      std::make_tuple(text<&Row::category>("category", "as in configs/operator_categories.json"),
                      field<&Row::recompute>("recompute", "run a second time by activation checkpointing"),
                      field<&Row::count>("count", "runs of launchers"),
                      field<&Row::direct_ns>("direct_ns", "GPU rows ran that they launched themselves"),
                      field<&Row::share>("share", "of the direct time of all rows"),
                      field<&Row::cumulative_share>("cumulative_share", "of this row and those before it"));
};

struct OperatorFields {
  using Row = OperatorRow;
  static std::string categories(const Row& row) {
    std::string all;
    for (const std::string& category : row.categories) all += (all.empty() ? "" : ", ") + category;
    return all;
  }
  static constexpr About kAbout = {"operators", "operators",
                                   "operators or calls of one name; times are sums over runs, as in key_averages"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::name>("name", "of the operator or call"),
      field<&Row::recompute>("recompute", "run a second time by activation checkpointing"),
      text<&categories>("categories", "of its runs that launched"), field<&Row::calls>("calls", "runs"),
      field<&Row::launches>("launches", "runs that launched GPU rows themselves"),
      field<&Row::direct_ns>("direct_ns", "GPU rows ran that a run launched itself"),
      field<&Row::subtree_ns>("subtree_ns", "GPU rows ran that a run or anything within it launched"),
      field<&Row::host_self_ns>("host_self_ns", "on the host, without operators within"),
      field<&Row::host_total_ns>("host_total_ns", "on the host"),
      field<&Row::device_self_ns>("device_self_ns", "sum of the GPU rows whose innermost operator it is"),
      field<&Row::device_total_ns>("device_total_ns", "and of those launched within"),
      field<&Row::share>("share", "direct_ns over that of all rows"),
      field<&Row::cumulative_share>("cumulative_share", "of this row and those before it"),
      field<&Row::host_memory_self_bytes>("host_memory_self_bytes",
                                          "host memory that its runs allocated, less what they freed (profile_memory)"),
      field<&Row::host_memory_bytes>("host_memory_bytes", "and what ran within them"),
      field<&Row::gpu_memory_self_bytes>("gpu_memory_self_bytes",
                                         "GPU memory that its runs allocated, less what they freed (profile_memory)"),
      field<&Row::gpu_memory_bytes>("gpu_memory_bytes", "and what ran within them"));
};

struct ArgumentFields {
  using Row = ArgumentsText;
  static constexpr About kAbout = {"", "", "the arguments of an operator's calls, as recorded"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::dims>("dims", "sizes of the tensors"), text<&Row::types>("types", "element types, or types"),
      text<&Row::strides>("strides", "of the tensors"), text<&Row::values>("values", "of what is no tensor"));
};

struct OperatorArgumentFields {
  using Row = ArgumentsRow;
  static int64_t count(const Row& row) { return row.direct.count; }
  static constexpr About kAbout = {"operator_arguments", "operator_arguments",
                                   "runs of one operator that launched, with equal arguments, in one thread"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::name>("name", "of the operator"),
      text<&Row::category>("category", "as in configs/operator_categories.json"),
      field<&Row::recompute>("recompute", "run a second time by activation checkpointing"),
      text<&Row::process_name>("process_name", "of its process"),
      text<&Row::process_label>("process_label", "of its process"),
      text<&Row::thread_name>("thread_name", "of its thread"), members_of<&Row::arguments, ArgumentFields>(),
      field<&Row::first_place>("first_place", "of the earliest run in traceEvents"), field<&count>("count", "runs"),
      spread<&Row::direct>("direct", "GPU rows ran that a run launched itself"),
      spread<&Row::subtree>("subtree", "GPU rows ran that a run or anything within it launched"),
      field<&Row::share>("share", "of the direct time of all rows"));
};

// Position `position` of row `row` of the table it belongs to.
struct PositionRow {
  int64_t row, position;
  const KernelPosition* kernel;
};

template <class Value, Value TimeSpread::*Figure>
Value of_kernel(const PositionRow& row) {
  return row.kernel->time.*Figure;
}

struct PositionFields {
  using Row = PositionRow;
  using T = TimeSpread;
  static const std::string& name(const Row& row) { return row.kernel->name; }
  static int32_t stream(const Row& row) { return row.kernel->stream; }
  static double mean_ns(const Row& row) { return row.kernel->time.mean_ns(); }
  static constexpr auto kFields = std::make_tuple(
      field<&Row::row>("row", "of the table, from 0"), field<&Row::position>("position", "from 0"),
      text<&name>("name", "of the kernel in the first run"), field<&stream>("stream", "the stream"),
      field<&of_kernel<int64_t, &T::count>>("count", "runs"), field<&of_kernel<int64_t, &T::sum_ns>>("sum_ns", "sum"),
      field<&mean_ns>("mean_ns", "mean"), field<&of_kernel<double, &T::median_ns>>("median_ns", "median"),
      field<&of_kernel<double, &T::deviation_ns>>("deviation_ns", "standard deviation of the sample"),
      field<&of_kernel<int64_t, &T::min_ns>>("min_ns", "the shortest"),
      field<&of_kernel<int64_t, &T::max_ns>>("max_ns", "the longest"));
};
struct ArgumentPositionFields : PositionFields {
  static constexpr About kAbout = {
      "operator_argument_kernels", "operator_argument_kernels",
      "the GPU rows at one position among those that a run of operator_arguments launched"};
};
struct WorkPositionFields : PositionFields {
  static constexpr About kAbout = {"work_kernels", "work_kernels",
                                   "the GPU rows at one position among those of a row of work"};
};

struct LaunchedKernelFields {
  using Row = KernelRow;
  // "1024x1x1"; "" where not recorded.
  template <auto Extents>
  static std::string extents(const Row& row) {
    const auto& size = row.*Extents;
    if (size[0] < 0) return "";
    return std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]);
  }
  static constexpr About kAbout = {"launched_kernels", "launched_kernels",
                                   "GPU rows of one name on one stream with one shape under one launcher"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::category>("category", "of the launcher"),
      text<&Row::launcher>("launcher", "innermost operator around the launch; null: the launch is not in the trace"),
      text<&Row::name>("name", "of the kernel, copy or fill"),
      field<&Row::work>("work", "compute, communication, memcpy or memset"),
      field<&Row::kernel>("kernel", "false: a copy or fill by the driver"), field<&Row::device>("device", "the GPU"),
      field<&Row::stream>("stream", "the stream"), text<&extents<&Row::grid>>("grid", "blocks of the grid: 1024x1x1"),
      text<&extents<&Row::block>>("block", "threads of a block"),
      known<&Row::registers>("registers_per_thread", "registers of a thread"),
      known<&Row::shared_memory>("shared_memory_bytes", "of a block"), field<&Row::count>("count", "rows"),
      field<&Row::sum_ns>("sum_ns", "their sum"), field<&Row::mean_ns>("mean_ns", "their mean"),
      field<&Row::min_ns>("min_ns", "the shortest"), field<&Row::max_ns>("max_ns", "the longest"),
      field<&Row::share>("share", "of the sum of all rows"),
      field<&Row::after_occupancy_query>("after_occupancy_query",
                                         "launches right after the operator had asked how many blocks fit on a "
                                         "multiprocessor: the grid is adapted to the device"));
};

struct ShortBinFields {
  using Row = ShortBin;
  static constexpr About kAbout = {"short_kernel_bins", "short_kernel_bins", "how many short kernels are so long"};
  static constexpr auto kFields = std::make_tuple(field<&Row::from_ns>("from_ns", "from here"),
                                                  field<&Row::to_ns>("to_ns", "to below here; the last bin: to here"),
                                                  field<&Row::count>("count", "kernels"));
};

struct ShortKernelFields {
  using Row = ShortKernelRow;
  static constexpr About kAbout = {"short_kernels", "short_kernels",
                                   "short kernels of one name, launcher and arguments"};
  static constexpr auto kFields =
      std::make_tuple(text<&Row::launcher>("launcher", "innermost operator around the launch"),
                      members_of<&Row::arguments, ArgumentFields>(), text<&Row::name>("name", "of the kernel"),
                      field<&Row::count>("count", "kernels"), field<&Row::sum_ns>("sum_ns", "their sum"));
};

struct OwnCollectiveFields {
  using Row = OwnCollectiveRow;
  static int64_t count(const Row& row) { return row.time.count; }
  static constexpr About kAbout = {"own_collectives", "own_collectives", "equal calls of this rank on one stream"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::group_name>("group_name", "of the process group"), text<&Row::group_ranks>("group_ranks", "members"),
      text<&Row::name>("name", "of the operation"), text<&Row::dtype>("dtype", "element type"),
      known<&Row::group_size>("group_size", "number of members"),
      known<&Row::in_elements>("in_elements", "elements that the rank gives"),
      known<&Row::out_elements>("out_elements", "elements that it gets"),
      known<&Row::in_bytes>("in_bytes", "bytes that it gives"),
      known<&Row::out_bytes>("out_bytes", "bytes that it gets"),
      text<&Row::in_split>("in_split", "elements for each member"),
      text<&Row::out_split>("out_split", "elements from each member"), known<&Row::stream>("stream", "the stream"),
      field<&count>("count", "calls"), spread<&Row::time>("duration", "of a call, waiting included"));
};

// Speed of the instances: what one does, times 1 / GPU time; none where either is not known.
template <int64_t WorkRow::*Done, double RateSpread::*Figure>
std::optional<double> speed(const WorkRow& row) {
  if (row.*Done < 0 || row.per_second.max == 0) return std::nullopt;
  return static_cast<double>(row.*Done) * (row.per_second.*Figure);
}

struct WorkFields {
  using Row = WorkRow;
  using R = RateSpread;
  static int64_t count(const Row& row) { return row.gpu.count; }
  static std::optional<double> intensity(const Row& row) {
    if (row.flops < 0 || row.bytes <= 0) return std::nullopt;
    return static_cast<double>(row.flops) / static_cast<double>(row.bytes);
  }
  static std::optional<double> roofline_share(const Row& row) {
    if (row.roofline_ns <= 0 || row.gpu.sum_ns <= 0) return std::nullopt;
    return row.roofline_ns / row.gpu.mean_ns();
  }
  static constexpr About kAbout = {"work", "work",
                                   "runs of an operator with one set of arguments: what they compute and move, and how "
                                   "fast; GPU rows left over are called launcher->kernel"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::name>("name", "of the outermost operator whose work is known"),
      text<&Row::category>("category", "as in configs/operator_categories.json"),
      field<&Row::recompute>("recompute", "run a second time by activation checkpointing"),
      text<&Row::process_name>("process_name", "of its process"),
      text<&Row::process_label>("process_label", "of its process"),
      text<&Row::thread_name>("thread_name", "of its thread"), members_of<&Row::arguments, ArgumentFields>(),
      field<&Row::first_place>("first_place", "of the earliest run in traceEvents"),
      field<&Row::known_operator>("known_operator", "there are formulas for its work"), field<&count>("count", "runs"),
      known<&Row::flops>("flops", "floating-point operations of a run"), known<&Row::bytes>("bytes", "a run moves"),
      unless_none<&intensity>("flops_per_byte", "arithmetic intensity"),
      text<&Row::compute>("compute", "units that compute: matrix or vector"),
      text<&Row::precision>("precision", "they compute in"),
      unless_none<&speed<&Row::flops, &R::mean>>("flops_per_s_mean", "flops over GPU time, the mean of the runs"),
      unless_none<&speed<&Row::flops, &R::median>>("flops_per_s_median", "their median"),
      unless_none<&speed<&Row::flops, &R::deviation>>("flops_per_s_deviation", "standard deviation of the sample"),
      unless_none<&speed<&Row::flops, &R::min>>("flops_per_s_min", "the slowest run"),
      unless_none<&speed<&Row::flops, &R::max>>("flops_per_s_max", "the fastest run"),
      unless_none<&speed<&Row::bytes, &R::mean>>("bytes_per_s_mean", "bytes over GPU time, the mean of the runs"),
      unless_none<&speed<&Row::bytes, &R::median>>("bytes_per_s_median", "their median"),
      unless_none<&speed<&Row::bytes, &R::deviation>>("bytes_per_s_deviation", "standard deviation of the sample"),
      unless_none<&speed<&Row::bytes, &R::min>>("bytes_per_s_min", "the slowest run"),
      unless_none<&speed<&Row::bytes, &R::max>>("bytes_per_s_max", "the fastest run"),
      text<&Row::bound>("bound", "compute or memory: which roof of the device limits it"),
      unless_none<&roofline_share>("roofline_share", "what the mean run reaches of that roof"),
      spread<&Row::gpu>("gpu", "the GPU rows of a run"), spread<&Row::host>("host", "a run on the host"),
      text<&Row::parameters>("parameters", "of the formulas: M, N, K"),
      text<&Row::unknown>("unknown", "why the work is not known"), field<&Row::share>("share", "of all GPU time"));
};

struct ModuleFields {
  using Row = ModuleRow;
  static constexpr About kAbout = {"modules", "modules", "the calls of one nn.Module"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::name>("name", "of the module"),
      text<&Row::parent>("parent", "the module that its first call ran within; null: none"),
      field<&Row::calls>("calls", "its calls"),
      field<&Row::host_self_ns>("host_self_ns", "on the host, without modules called within"),
      field<&Row::host_total_ns>("host_total_ns", "on the host"),
      field<&Row::gpu_ns>("gpu_ns", "GPU rows ran that it launched"),
      field<&Row::backward_gpu_ns>("backward_gpu_ns", "GPU rows ran that the backward pass of its operators launched"));
};

struct AnnotationFields {
  using Row = AnnotationRow;
  static bool has_operators(const Row& row) { return row.with_operators > 0; }
  static double before_first_operator(const Row& row) {
    return static_cast<double>(row.before_first_operator_ns) / static_cast<double>(row.with_operators);
  }
  static constexpr About kAbout = {"annotations", "annotations", "user annotations of one name"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::name>("name", "of the annotation"),
      field<&Row::on_gpu>("on_gpu", "ranges on the GPU; false: record_function or a step on the host"),
      field<&Row::count>("count", "ranges"), field<&Row::total_ns>("total_ns", "their sum"),
      field<&Row::gpu_ns>("gpu_ns", "GPU rows ran that were launched within, on the annotation's thread"),
      where<&before_first_operator, &has_operators>("mean_before_first_operator_ns",
                                                    "from the begin of a range to that of the first operator in it; "
                                                    "null: no range has one"));
};

struct CompiledRegionFields {
  using Row = CompiledRegionRow;
  static std::string outer(const Row& row) {
    std::string all;
    for (const std::string& name : row.outer) all += (all.empty() ? "" : ", ") + name;
    return all;
  }
  static constexpr About kAbout = {"compiled_regions", "compiled_regions", "a region that torch.compile made"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::name>("name", "of the region"),
      known<&Row::frame>("frame", "of its frame/compile id; null: before PyTorch 2.5"),
      known<&Row::compile>("compile", "of its frame/compile id"), field<&Row::calls>("calls", "its calls"),
      field<&Row::nested>("nested", "calls within another region: each follows a graph break"),
      text<&outer>("outer", "those regions"), field<&Row::host_ns>("host_ns", "on the host"),
      field<&Row::gpu_ns>("gpu_ns", "GPU rows ran that it launched"),
      field<&Row::cache_lookup_ns>("cache_lookup_ns", "cache look-ups right before its calls: checking the guards"),
      field<&Row::prologue_ns>("prologue_ns", "prologues within it, before the compiled code: preparing inputs"),
      field<&Row::recompiled>("recompiled", "compiled more than once"));
};

struct CompileEventFields {
  using Row = CompileEventRow;
  static constexpr About kAbout = {"compile_events", "compile_events", "what compiled code does around its kernels"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::event>("event", "cache_lookup, prologue, forward, backward, graph_call or compilation"),
      text<&Row::name>("name", "as recorded"), field<&Row::count>("count", "times"),
      field<&Row::host_ns>("host_ns", "sum on the host"), field<&Row::gpu_ns>("gpu_ns", "sum on the GPU"));
};

struct TritonFields {
  using Row = TritonRow;
  static constexpr About kAbout = {"triton_kernels", "triton_kernels", "Triton kernels of one name"};
  static constexpr auto kFields =
      std::make_tuple(text<&Row::name>("name", "of the kernel"),
                      field<&Row::by_compiler>("by_compiler", "written by torch.compile; false: by the user"),
                      text<&Row::file>("file", "its generated source"), field<&Row::count>("count", "runs"),
                      field<&Row::sum_ns>("sum_ns", "their sum"));
};

struct GraphFields {
  using Row = GraphLaunchRow;
  static constexpr About kAbout = {"graph_launches", "graph_launches",
                                   "launches of captured graphs, by the number of GPU rows they launch"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::name>("name", "of the call"), field<&Row::gpu_rows>("gpu_rows", "of one launch"),
      field<&Row::launches>("launches", "calls"), field<&Row::host_ns>("host_ns", "sum of the calls"),
      field<&Row::sum_ns>("sum_ns", "sum of the GPU rows"), field<&Row::busy_ns>("busy_ns", "any of them ran"));
};

struct PathKindFields {
  using Row = PathKindRow;
  static constexpr About kAbout = {"critical_path", "critical_path", "one kind of time on a step's critical path"};
  static constexpr auto kFields = std::make_tuple(
      known<&Row::step>("step", "N of ProfilerStep#N; null: the trace"),
      field<&Row::start_ns>("start_ns", "of the step, since the trace's first event"),
      field<&Row::length_ns>("length_ns", "of the step"), field<&Row::kind>("kind", "what the program waited for"),
      field<&Row::time_ns>("time_ns", "for how long"), field<&Row::share>("share", "of the step's length"),
      field<&Row::profiler_ns>("profiler_ns",
                               "of time_ns, where the GPU had nothing to do: the profiler refilled its own buffers "
                               "meanwhile"));
};

template <ExecutionPart kPart>
int64_t execution_part(const ExecutionRow& row) {
  return row.part_ns(kPart);
}

struct ExecutionFields {
  using Row = ExecutionRow;
  using P = ExecutionPart;
  static constexpr About kAbout = {"execution_summary", "execution_summary",
                                   "what a step's time went to, as TensorBoard has it: each nanosecond under the first "
                                   "part that applies, in the order of the columns; the parts sum to length_ns"};
  static constexpr auto kFields = std::make_tuple(
      known<&Row::step>("step", "N of ProfilerStep#N; null: the trace"),
      field<&Row::length_ns>("length_ns",
                             "of the step: from its begin on the host, or the end of the step before, until its end on "
                             "the host or of the last row launched in it"),
      field<&execution_part<P::kernel>>("kernel_ns", "computing kernels ran"),
      field<&execution_part<P::copy>>("memcpy_ns", "else copies ran"),
      field<&execution_part<P::fill>>("memset_ns", "else fills ran"),
      field<&execution_part<P::communication>>("communication_ns", "else communication ran"),
      field<&execution_part<P::runtime>>("runtime_ns", "else a call of the runtime or driver ran"),
      field<&execution_part<P::data_loader>>("data_loader_ns",
                                             "else the thread of the step was in its data loader: the program waited "
                                             "for data"),
      field<&execution_part<P::host_operator>>("cpu_ns", "else an operator ran on the host"),
      field<&execution_part<P::other>>("other_ns", "none of these: Python, other libraries"),
      field<&Row::in_data_loader_ns>("in_data_loader_ns",
                                     "the thread of the step was in its data loader, whatever else ran: "
                                     "enumerate(DataLoader), a range or Python function of a data loader"));
};

struct PathNameFields {
  using Row = PathNameRow;
  static constexpr About kAbout = {"critical_path_names", "critical_path_names",
                                   "one kind and name on the critical paths of all steps"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::kind>("kind", "what the program waited for"),
      text<&Row::name>("name", "of the operator or call; of the GPU row; of the call or row that waited"),
      field<&Row::count>("count", "rows on the paths"), field<&Row::time_ns>("time_ns", "for how long"),
      field<&Row::share>("share", "of the length of all steps"));
};

struct OperatorPassFields {
  using Row = OperatorPassRow;
  static constexpr About kAbout = {"operator_passes", "operator_passes",
                                   "forward operators of one name and their nodes of the backward pass"};
  static constexpr auto kFields =
      std::make_tuple(field<&Row::forward>("forward", "operator of the forward pass"),
                      field<&Row::backward>("backward", "node of the backward pass with the same sequence number"),
                      field<&Row::calls>("calls", "nodes of the backward pass"),
                      field<&Row::forward_gpu_ns>("forward_gpu_ns", "GPU time of what the forward operators launched"),
                      field<&Row::backward_gpu_ns>("backward_gpu_ns", "GPU time of what the nodes launched"),
                      field<&Row::forward_host_ns>("forward_host_ns", "host time of the forward operators"),
                      field<&Row::backward_host_ns>("backward_host_ns", "host time of the nodes"));
};

struct CallStackFields {
  using Row = CallStackRow;
  static constexpr About kAbout = {"call_stacks", "call_stacks",
                                   "kernels by where the program asked for them: the 200 with most GPU time"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::name>("name", "name of the kernel, copy or fill"),
      field<&Row::launcher>("launcher", "operator that launched it"),
      field<&Row::stack>("stack",
                         "the launcher and what was around it, operators and, where recorded (with_stack; of PyTorch "
                         "1.8 to 1.12 in the operators' own arguments), Python functions: the innermost first, one a "
                         "line, at most 40"),
      field<&Row::launches>("launches", "GPU rows"), field<&Row::gpu_ns>("gpu_ns", "sum of these rows"));
};

}  // namespace skewscope::report
