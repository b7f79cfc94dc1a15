// What a collective is called: one vocabulary for every spelling that tracers and backends use; kernel_table.h is that
// of kernels. Sources of the spellings: PyTorch c10d (ParamCommsUtils, ProcessGroupNCCL/Gloo), torchcomms. See
// collectives/README.md for the table of meanings.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace skewscope {

enum class CollectiveKind : uint8_t {
  unknown,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,  // with or without split sizes (all_to_allv): sizes may differ between members
  broadcast,
  reduce,
  gather,
  scatter,
  barrier,
  send,
  recv,
  coalesced,  // several operations in one kernel (ncclGroup, batch_isend_irecv)
  send_recv,  // both at once with one peer, in one kernel: a batch_isend_irecv between two stages of a pipeline
};

// Between two ranks: send, recv, send_recv.
bool is_point_to_point(CollectiveKind kind);

// Between two ranks, or a batch of such.
bool carries_messages(CollectiveKind kind);

// Whether the number is that of a kind: files may hold any.
bool is_valid(CollectiveKind kind);

// "all_reduce", … as report.json spells it; and back.
const char* to_string(CollectiveKind kind);
std::optional<CollectiveKind> kind_called(std::string_view name);

// From the "Collective name" of kernel args and record_param_comms, or the text behind "nccl:", "gloo:", "rccl:" of an
// annotation ("all_reduce", "send 0->1"). nullopt: no operation ("wait", "init", ""); `unknown`: one of a new name.
std::optional<CollectiveKind> kind_from_operation_name(std::string_view name);

// From a whole annotation name such as "nccl:all_reduce" or "gloo:broadcast"; nullopt when it is none that we know.
std::optional<CollectiveKind> kind_from_annotation(std::string_view name);

// What a row of the GPU timeline does. Rows of category gpu_memcpy and gpu_memset are classified by category; kernels
// by name: AMD runs copies and fills as kernels (MEMORY_COPY_*, __amd_rocclr_copyBuffer*, __amd_rocclr_fillBuffer*).
enum class GpuWork : uint8_t { compute, communication, memcpy, memset };
const char* to_string(GpuWork work);

// Element types in c10 spelling ("Float", "BFloat16") and C++ spelling ("float", "c10::BFloat16", "long int").
enum class DType : uint8_t {
  unknown,
  float64,
  float32,
  float16,
  bfloat16,
  float8,
  int64,
  int32,
  int16,
  int8,
  uint8,
  boolean,
  complex64,
  complex128,
  uint16,
  uint32,
  uint64,
  bytes,  // sizes are recorded in bytes, and not of what
};
bool is_valid(DType type);
const char* to_string(DType type);
DType dtype_from_name(std::string_view name);
// Bytes per element; 0 for unknown: then no size and no bandwidth is stated.
int64_t element_bytes(DType type);

}  // namespace skewscope
