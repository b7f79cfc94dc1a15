// How kernels are called: the parts of a C++ name, written out or mangled, and the words and prefixes in them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/kind.h"

namespace skewscope {

// "void ns::(anonymous namespace)::put<float, 8>(int*)" -> {"ns", "(anonymous namespace)", "put"}; mangled names alike.
// At least one part, the function.
std::vector<std::string> path_of_kernel(std::string_view kernel_name);

// In lower case and without underscores: "two_shot_AllReduce" -> "twoshotallreduce".
std::string folded_name(std::string_view name);

// The collective whose word is in a name, however it is written: "allreduce", "reduce_scatter", "AllToAll".
std::optional<CollectiveKind> kind_by_word(std::string_view name);

// What a kernel does that belongs to a library that launches one for each collective: NCCL, RCCL, MTIA's and Habana's
// HCCL, Ascend's HCCL, oneCCL, Moore Threads' MCCL, Cambricon's CNCL, RCCL's MSCCL. nullopt: of none. `unknown`: its
// name does not tell the operation (rcclGenericKernel, ncclDevKernel_Generic, SendRecv).
std::optional<CollectiveKind> kind_of_library_kernel(const std::vector<std::string>& path);

// Kernels by name that copy or fill, as AMD and MTIA write them; nullopt: another.
std::optional<GpuWork> moving_kernel(std::string_view kernel_name);

// How many ranks a custom kernel is made for, where its name says so: the last template argument of vLLM's, SGLang's
// and aiter's cross_device_reduce_1stage<T, N> and _2stage. -1: it does not.
int32_t ranks_of_kernel(std::string_view kernel_name);

}  // namespace skewscope
