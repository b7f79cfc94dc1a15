#include "collectives/kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "collectives/backend_prefix.h"

namespace skewscope {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Lower case, without leading underscores: "_allgather_base" and "ALLGATHER_BASE" are one spelling.
std::string folded(std::string_view name) {
  while (!name.empty() && name.front() == '_') name.remove_prefix(1);
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

struct Spelling {
  std::string_view text;
  CollectiveKind kind;
};

// What c10d, its backends, torch.distributed's functional layer and torchcomms write as an operation's name, folded.
constexpr std::array kOperationNames = {
    Spelling{"allreduce", CollectiveKind::all_reduce},
    Spelling{"all_reduce", CollectiveKind::all_reduce},
    Spelling{"all_reduce_barrier", CollectiveKind::barrier},
    Spelling{"allreduce_coalesced", CollectiveKind::all_reduce},
    Spelling{"all_reduce_coalesced", CollectiveKind::all_reduce},
    Spelling{"allreduce_sparse", CollectiveKind::all_reduce},
    Spelling{"all_reduce_sparse", CollectiveKind::all_reduce},
    Spelling{"sparse_all_reduce", CollectiveKind::all_reduce},
    Spelling{"allgather", CollectiveKind::all_gather},
    Spelling{"all_gather", CollectiveKind::all_gather},
    Spelling{"allgather_base", CollectiveKind::all_gather},
    Spelling{"all_gather_base", CollectiveKind::all_gather},
    Spelling{"allgather_coalesced", CollectiveKind::all_gather},
    Spelling{"all_gather_into_tensor", CollectiveKind::all_gather},
    Spelling{"all_gather_into_tensor_coalesced", CollectiveKind::all_gather},
    Spelling{"allgather_into_tensor_coalesced", CollectiveKind::all_gather},
    Spelling{"all_gather_single", CollectiveKind::all_gather},
    Spelling{"all_gather_v", CollectiveKind::all_gather},
    Spelling{"reduce_scatter", CollectiveKind::reduce_scatter},
    Spelling{"reducescatter", CollectiveKind::reduce_scatter},
    Spelling{"reduce_scatter_base", CollectiveKind::reduce_scatter},
    Spelling{"reduce_scatter_tensor", CollectiveKind::reduce_scatter},
    Spelling{"reduce_scatter_tensor_coalesced", CollectiveKind::reduce_scatter},
    Spelling{"reduce_scatter_coalesced", CollectiveKind::reduce_scatter},
    Spelling{"reduce_scatter_single", CollectiveKind::reduce_scatter},
    Spelling{"reduce_scatter_v", CollectiveKind::reduce_scatter},
    Spelling{"all_to_all", CollectiveKind::all_to_all},
    Spelling{"alltoall", CollectiveKind::all_to_all},
    Spelling{"alltoall_base", CollectiveKind::all_to_all},
    Spelling{"all_to_all_base", CollectiveKind::all_to_all},
    Spelling{"all_to_all_single", CollectiveKind::all_to_all},
    Spelling{"all_to_all_v_single", CollectiveKind::all_to_all},
    Spelling{"all_to_allv", CollectiveKind::all_to_all},
    Spelling{"all_to_all(v)", CollectiveKind::all_to_all},
    Spelling{"alltoallv", CollectiveKind::all_to_all},
    Spelling{"broadcast", CollectiveKind::broadcast},
    Spelling{"reduce", CollectiveKind::reduce},
    Spelling{"gather", CollectiveKind::gather},
    Spelling{"scatter", CollectiveKind::scatter},
    Spelling{"barrier", CollectiveKind::barrier},
    Spelling{"monitoredbarrier", CollectiveKind::barrier},
    Spelling{"monitored_barrier", CollectiveKind::barrier},
    Spelling{"send", CollectiveKind::send},
    Spelling{"isend", CollectiveKind::send},
    Spelling{"recv", CollectiveKind::recv},
    Spelling{"irecv", CollectiveKind::recv},
    Spelling{"recvanysource", CollectiveKind::recv},
    Spelling{"recv_any_source", CollectiveKind::recv},
    Spelling{"send_recv", CollectiveKind::send_recv},
    Spelling{"coalesced", CollectiveKind::coalesced},
    Spelling{"nccl:coalesced", CollectiveKind::coalesced},
    Spelling{"batch_isend_irecv", CollectiveKind::coalesced},
};

// What the same layers record besides: nothing that runs on a GPU.
constexpr std::array<std::string_view, 6> kNoOperations = {"", "wait", "init", "finalize", "reconfigure", "split"};

// Names of libraries that launch one kernel per collective, as their kernels begin: NCCL, RCCL, MTIA's and Habana's
// HCCL, Ascend's HCCL, oneCCL, Moore Threads' MCCL, Cambricon's CNCL, RCCL's MSCCL.
constexpr std::array<std::string_view, 8> kLibraries = {"nccl",   "rccl", "hccl", "hcom_",
                                                        "oneccl", "mccl", "cncl", "mscclKernel"};

// Without what demanglers write before it: "void " of a template, "ns::(anonymous namespace)::".
std::string_view without_return_type(std::string_view kernel_name) {
  if (kernel_name.substr(0, 5) == "void ") kernel_name.remove_prefix(5);
  return kernel_name;
}

bool is_nccl(std::string_view library) { return library == "nccl" || library == "rccl"; }

// NCCL and RCCL write "ncclDevKernel_…", a namespace is "nccl::"; "nccl_fp8_cast" is somebody's helper beside them.
bool begins_with(std::string_view kernel_name, std::string_view library) {
  return kernel_name.starts_with(library) && !(is_nccl(library) && kernel_name.substr(library.size(), 1) == "_");
}

std::string_view library_of(std::string_view kernel_name) {
  kernel_name = without_return_type(kernel_name);
  for (const std::string_view library : kLibraries) {
    if (begins_with(kernel_name, library)) return library;
  }
  return {};
}

// The function itself, without template arguments and parameters, in lower case and without underscores:
// "twoshotallreducekernel", "ncclsymkdevkernelallgatherll".
std::string folded_function(std::string_view kernel_name) {
  kernel_name = without_return_type(kernel_name);
  std::string text;
  for (size_t i = 0; i < kernel_name.size() && kernel_name[i] != '<'; ++i) {
    const char c = kernel_name[i];
    if (c == '(' && kernel_name.substr(i, 11) != "(anonymous ") break;
    if (c != '_') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

// The names that operations have inside folded_function(). Longer ones first: allreduce before reduce.
constexpr std::array kOperationWords = {
    Spelling{"allreduce", CollectiveKind::all_reduce},         Spelling{"allgather", CollectiveKind::all_gather},
    Spelling{"reducescatter", CollectiveKind::reduce_scatter}, Spelling{"alltoall", CollectiveKind::all_to_all},
    Spelling{"all2all", CollectiveKind::all_to_all},
};

// The same where the library's name already says that the kernel communicates.
constexpr std::array kLibraryWords = {
    Spelling{"sendrecv", CollectiveKind::unknown},  // point-to-point and all-to-all alike: the name does not tell
    Spelling{"broadcast", CollectiveKind::broadcast},
    Spelling{"nvlbarrier", CollectiveKind::barrier},
    Spelling{"invokebarrier", CollectiveKind::barrier},
    Spelling{"send", CollectiveKind::send},
    Spelling{"recv", CollectiveKind::recv},
};

// "ncclDevKernel_AllReduce_Sum_f32_RING_LL"; before 2.19 "ncclKernel_AllReduce_RING_LL_Sum_float", before 2.12
// "ncclAllReduceRingLLKernel_sum_f32"; symmetric memory "ncclSymkDevKernel_AllGather_LL"; Ctran
// "ncclKernelAllToAllv"; "oneccl_allgatherv_write". The operation is the first word behind these prefixes.
CollectiveKind kind_from_library_kernel(std::string_view kernel_name, std::string_view library) {
  const std::string function = folded_function(kernel_name);
  std::string_view rest(function);
  rest.remove_prefix(library.back() == '_' ? library.size() - 1 : library.size());
  for (const std::string_view prefix : {"::", "symk", "sym", "dev", "kernel", "debug"}) {
    if (rest.substr(0, prefix.size()) == prefix) rest.remove_prefix(prefix.size());
  }
  for (const Spelling& word : kOperationWords) {
    if (rest.substr(0, word.text.size()) == word.text) return word.kind;
  }
  for (const Spelling& word : kLibraryWords) {
    if (rest.substr(0, word.text.size()) == word.text) return word.kind;
  }
  // oneCCL reduces locally, too: "oneccl_reduce_base".
  return is_nccl(library) && rest.substr(0, 6) == "reduce" ? CollectiveKind::reduce : CollectiveKind::unknown;
}

// Kernels of everybody else by a part of their name, where no word of kOperationWords tells: vLLM, SGLang and aiter;
// symmetric memory; TransformerEngine's userbuffers; DeepEP, HybridEP, Mori, pplx-garden and TensorRT-LLM (MoE's
// dispatch and combine are all-to-all).
constexpr std::array kCustomKernels = {
    Spelling{"cross_device_reduce", CollectiveKind::all_reduce},
    Spelling{"allreduce_fusion", CollectiveKind::all_reduce},
    Spelling{"multimem_one_shot_reduce", CollectiveKind::reduce},
    Spelling{"symmetric_memory::barrier_kernel", CollectiveKind::barrier},
    Spelling{"symmetric_memory::put_signal_kernel", CollectiveKind::send},
    Spelling{"symmetric_memory::wait_signal_kernel", CollectiveKind::recv},
    Spelling{"userbuffers_pushsendrecv", CollectiveKind::unknown},
    Spelling{"userbuffers_pushsend", CollectiveKind::send},
    Spelling{"userbuffers_pushrecv", CollectiveKind::recv},
    Spelling{"userbuffers_fp16_sum_inplace_gpu_rr_rs", CollectiveKind::reduce_scatter},
    Spelling{"userbuffers_fp16_sum_inplace_gpu_rr_ag", CollectiveKind::all_gather},
    Spelling{"userbuffers_fp16_sum", CollectiveKind::all_reduce},
    Spelling{"userbuffers_", CollectiveKind::unknown},
    Spelling{"deep_ep::", CollectiveKind::all_to_all},
    Spelling{"dpsk::ep::", CollectiveKind::all_to_all},  // DeepEP, as its authors build it
    Spelling{"uccl::internode", CollectiveKind::all_to_all},
    Spelling{"uccl::intranode", CollectiveKind::all_to_all},
    Spelling{"nccl_ep", CollectiveKind::all_to_all},
    Spelling{"hybrid_ep::dispatch_kernel", CollectiveKind::all_to_all},
    Spelling{"hybrid_ep::combine_kernel", CollectiveKind::all_to_all},
    Spelling{"hybrid_ep::device_sync_kernel", CollectiveKind::barrier},
    Spelling{"EpDispatchI", CollectiveKind::all_to_all},  // …IntraNode, …InterNode
    Spelling{"EpCombineI", CollectiveKind::all_to_all},
    Spelling{"EpCombineSyncBarrier", CollectiveKind::barrier},
    Spelling{"EpDispatchLowLatency", CollectiveKind::all_to_all},
    Spelling{"EpCombineLowLatency", CollectiveKind::all_to_all},
    Spelling{"a2a_dispatch_", CollectiveKind::all_to_all},
    Spelling{"a2a_combine_", CollectiveKind::all_to_all},
    Spelling{"moeA2ADispatch", CollectiveKind::all_to_all},
    Spelling{"moeA2ACombine", CollectiveKind::all_to_all},
};

// Libraries that transfer for others: what for, only a word of kOperationWords tells.
constexpr std::array<std::string_view, 3> kTransferLibraries = {"nvshmem", "rocshmem", "mscclpp"};

// "gemm", but not in the name of the library FBGEMM, which has all-reduces of its own.
bool multiplies(std::string_view function) {
  for (size_t at = function.find("gemm"); at != std::string_view::npos; at = function.find("gemm", at + 1)) {
    if (at < 2 || function.substr(at - 2, 2) != "fb") return true;
  }
  return false;
}

// Kernels that compute although their name holds such a word: Inductor names what it fuses after the operations around
// it; blocks and warps have collectives of their own; a GEMM with a reduction inside is GEMM first; DeepEP counts where
// tokens go before it sends them.
bool computes(std::string_view kernel_name, std::string_view function) {
  if (function.substr(0, 6) == "triton" || multiplies(function)) return true;
  for (const std::string_view part : {"matmul", "blockall", "warpall", "waveall"}) {
    if (contains(function, part)) return true;
  }
  return contains(kernel_name, "deep_ep::layout::");
}

std::optional<CollectiveKind> kind_from_custom_kernel(std::string_view name) {
  const std::string function = folded_function(name);
  if (computes(name, function)) return std::nullopt;
  for (const Spelling& kernel : kCustomKernels) {
    if (contains(name, kernel.text)) return kernel.kind;
  }
  for (const Spelling& word : kOperationWords) {
    if (contains(function, word.text)) return word.kind;
  }
  for (const std::string_view library : kTransferLibraries) {
    if (contains(name, library)) return CollectiveKind::unknown;
  }
  return std::nullopt;
}

struct TypeSpelling {
  std::string_view text;
  DType type;
};

// c10's names, then C++ names as record_function writes them (with and without "c10::").
constexpr std::array kTypeNames = {
    TypeSpelling{"Float", DType::float32},
    TypeSpelling{"Half", DType::float16},
    TypeSpelling{"BFloat16", DType::bfloat16},
    TypeSpelling{"Double", DType::float64},
    TypeSpelling{"Long", DType::int64},
    TypeSpelling{"Int", DType::int32},
    TypeSpelling{"Short", DType::int16},
    TypeSpelling{"Char", DType::int8},
    TypeSpelling{"Byte", DType::uint8},
    TypeSpelling{"Bool", DType::boolean},
    TypeSpelling{"ComplexFloat", DType::complex64},
    TypeSpelling{"ComplexDouble", DType::complex128},
    TypeSpelling{"UInt16", DType::uint16},
    TypeSpelling{"UInt32", DType::uint32},
    TypeSpelling{"UInt64", DType::uint64},
    TypeSpelling{"float", DType::float32},
    TypeSpelling{"double", DType::float64},
    TypeSpelling{"long int", DType::int64},
    TypeSpelling{"long", DType::int64},
    TypeSpelling{"int", DType::int32},
    TypeSpelling{"short int", DType::int16},
    TypeSpelling{"short", DType::int16},
    TypeSpelling{"signed char", DType::int8},
    TypeSpelling{"char", DType::int8},
    TypeSpelling{"unsigned char", DType::uint8},
    TypeSpelling{"bool", DType::boolean},
    TypeSpelling{"c10::complex<float>", DType::complex64},
    TypeSpelling{"c10::complex<double>", DType::complex128},
    TypeSpelling{"unsigned short", DType::uint16},
    TypeSpelling{"unsigned int", DType::uint32},
    TypeSpelling{"unsigned long", DType::uint64},
};

}  // namespace

bool is_point_to_point(CollectiveKind kind) {
  return kind == CollectiveKind::send || kind == CollectiveKind::recv || kind == CollectiveKind::send_recv;
}

const char* to_string(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::unknown:
      return "unknown";
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::all_to_all:
      return "all_to_all";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::reduce:
      return "reduce";
    case CollectiveKind::gather:
      return "gather";
    case CollectiveKind::scatter:
      return "scatter";
    case CollectiveKind::barrier:
      return "barrier";
    case CollectiveKind::send:
      return "send";
    case CollectiveKind::recv:
      return "recv";
    case CollectiveKind::coalesced:
      return "coalesced";
    case CollectiveKind::send_recv:
      return "send_recv";
  }
  return "unknown";
}

std::optional<CollectiveKind> kind_from_operation_name(std::string_view name) {
  std::string text = folded(name);
  if (const size_t end = text.find(' '); end != std::string::npos) text.resize(end);  // "send 0->1"
  if (text.size() > 4 && text.compare(text.size() - 4, 4, "_oop") == 0) text.resize(text.size() - 4);
  for (const Spelling& known : kOperationNames) {
    if (text == known.text) return known.kind;
  }
  for (const std::string_view other : kNoOperations) {
    if (text == other) return std::nullopt;
  }
  return CollectiveKind::unknown;
}

std::optional<CollectiveKind> kind_from_annotation(std::string_view name) {
  const size_t prefix = backend_prefix(name);
  if (prefix == 0) return std::nullopt;
  const std::optional<CollectiveKind> kind = kind_from_operation_name(name.substr(prefix));
  return kind == CollectiveKind::unknown ? std::nullopt : kind;
}

std::optional<CollectiveKind> kind_from_kernel(std::string_view name) {
  if (const std::string_view library = library_of(name); !library.empty()) {
    return kind_from_library_kernel(name, library);
  }
  if (const auto kind = kind_from_custom_kernel(name)) return kind;
  constexpr std::string_view kBothEnd = "ccl";  // behind a namespace, or mangled
  for (size_t at = name.find(kBothEnd, 1); at != std::string_view::npos; at = name.find(kBothEnd, at + 1)) {
    const std::string_view rest = name.substr(at - 1);
    if (begins_with(rest, "nccl") || begins_with(rest, "rccl")) return CollectiveKind::unknown;
  }
  return std::nullopt;
}

bool is_custom_communication_kernel(std::string_view name) {
  return library_of(name).empty() && kind_from_custom_kernel(name).has_value();
}

int32_t ranks_of_kernel(std::string_view name) {
  constexpr int32_t kMostRanks = 16;  // these kernels stay within a node
  const size_t function = name.find("cross_device_reduce_");
  if (function == std::string_view::npos) return -1;
  const size_t call = name.find(">(", function);
  const std::string_view arguments = name.substr(0, call == std::string_view::npos ? name.rfind('>') : call);
  const size_t comma = arguments.rfind(',');
  if (comma == std::string_view::npos || comma < function) return -1;
  int32_t ranks = 0;
  for (const char c : arguments.substr(comma + 1)) {
    if (c == ' ') continue;
    if (c < '0' || c > '9') return -1;
    ranks = std::min(10 * ranks + (c - '0'), kMostRanks + 1);
  }
  return ranks >= 2 && ranks <= kMostRanks ? ranks : -1;
}

GpuWork work_of_kernel(std::string_view name) {
  if (name == "dma_request") return GpuWork::memcpy;  // MTIA's
  if (name.substr(0, 12) == "MEMORY_COPY_" || name.substr(0, 23) == "__amd_rocclr_copyBuffer") return GpuWork::memcpy;
  if (name.substr(0, 23) == "__amd_rocclr_fillBuffer") return GpuWork::memset;
  return kind_from_kernel(name) ? GpuWork::communication : GpuWork::compute;
}

const char* to_string(GpuWork work) {
  constexpr const char* kWords[] = {"compute", "communication", "memcpy", "memset"};
  return kWords[static_cast<size_t>(work)];
}

const char* to_string(DType type) {
  switch (type) {
    case DType::unknown:
      return "unknown";
    case DType::float64:
      return "float64";
    case DType::float32:
      return "float32";
    case DType::float16:
      return "float16";
    case DType::bfloat16:
      return "bfloat16";
    case DType::float8:
      return "float8";
    case DType::int64:
      return "int64";
    case DType::int32:
      return "int32";
    case DType::int16:
      return "int16";
    case DType::int8:
      return "int8";
    case DType::uint8:
      return "uint8";
    case DType::boolean:
      return "bool";
    case DType::complex64:
      return "complex64";
    case DType::complex128:
      return "complex128";
    case DType::uint16:
      return "uint16";
    case DType::uint32:
      return "uint32";
    case DType::uint64:
      return "uint64";
  }
  return "unknown";
}

DType dtype_from_name(std::string_view name) {
  for (const TypeSpelling& known : kTypeNames) {
    if (name == known.text) return known.type;
  }
  if (name.substr(0, 5) == "c10::") return dtype_from_name(name.substr(5));
  if (name.substr(0, 6) == "Float8") return DType::float8;
  return DType::unknown;
}

int64_t element_bytes(DType type) {
  switch (type) {
    case DType::unknown:
      return 0;
    case DType::float8:
    case DType::int8:
    case DType::uint8:
    case DType::boolean:
      return 1;
    case DType::float16:
    case DType::bfloat16:
    case DType::int16:
    case DType::uint16:
      return 2;
    case DType::float32:
    case DType::int32:
    case DType::uint32:
      return 4;
    case DType::float64:
    case DType::int64:
    case DType::uint64:
    case DType::complex64:
      return 8;
    case DType::complex128:
      return 16;
  }
  return 0;
}

}  // namespace skewscope
