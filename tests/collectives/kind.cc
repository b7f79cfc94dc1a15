#include "collectives/kind.h"

#include <catch2/catch.hpp>

using namespace skewscope;

TEST_CASE("every spelling of an operation means its kind") {
  const std::pair<const char*, CollectiveKind> table[] = {
      {"allreduce", CollectiveKind::all_reduce},
      {"all_reduce", CollectiveKind::all_reduce},
      {"allreduce_coalesced", CollectiveKind::all_reduce},
      {"_allgather_base", CollectiveKind::all_gather},
      {"_all_gather_base", CollectiveKind::all_gather},
      {"all_gather_into_tensor_coalesced", CollectiveKind::all_gather},
      {"_reduce_scatter_base", CollectiveKind::reduce_scatter},
      {"reduce_scatter_tensor_coalesced", CollectiveKind::reduce_scatter},
      {"all_to_all", CollectiveKind::all_to_all},
      {"alltoall_base", CollectiveKind::all_to_all},
      {"all_to_allv", CollectiveKind::all_to_all},
      {"broadcast", CollectiveKind::broadcast},
      {"_broadcast_oop", CollectiveKind::broadcast},
      {"_reduce_oop", CollectiveKind::reduce},
      {"gather", CollectiveKind::gather},
      {"scatter", CollectiveKind::scatter},
      {"barrier", CollectiveKind::barrier},
      {"send 0->1", CollectiveKind::send},
      {"recv 1<-0", CollectiveKind::recv},
      {"recvAnySource", CollectiveKind::recv},
      {"coalesced", CollectiveKind::coalesced},
  };
  for (const auto& [name, kind] : table) {
    INFO(name);
    REQUIRE(kind_from_operation_name(name) == kind);
  }
}

TEST_CASE("wait and init are no operations") {
  REQUIRE_FALSE(kind_from_operation_name("wait"));
  REQUIRE_FALSE(kind_from_operation_name("init"));
  REQUIRE_FALSE(kind_from_operation_name(""));
  REQUIRE_FALSE(kind_from_annotation("ProfilerStep#3"));
  REQUIRE_FALSE(kind_from_annotation("all_reduce"));
}

TEST_CASE("an annotation tells the operation behind its backend's prefix") {
  REQUIRE(kind_from_annotation("nccl:_all_gather_base") == CollectiveKind::all_gather);
  REQUIRE(kind_from_annotation("gloo:all_reduce") == CollectiveKind::all_reduce);
  REQUIRE(kind_from_annotation("nccl:send 0->1") == CollectiveKind::send);
}

TEST_CASE("a kernel's name tells that it communicates, and where it can, what") {
  const std::pair<const char*, CollectiveKind> table[] = {
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", CollectiveKind::all_reduce},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", CollectiveKind::all_reduce},
      {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_SIMPLE(x)", CollectiveKind::reduce_scatter},
      {"ncclDevKernel_Reduce_Sum_f32_RING_LL(x)", CollectiveKind::reduce},
      {"ncclDevKernel_Broadcast_RING_LL(x)", CollectiveKind::broadcast},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(x)", CollectiveKind::unknown},
      {"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", CollectiveKind::unknown},
      {"rcclGenericKernel<1, false>(x)", CollectiveKind::unknown},
      {"void vllm::cross_device_reduce_2stage<__hip_bfloat16, 8>(x)", CollectiveKind::all_reduce},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(x)", CollectiveKind::all_reduce},
      {"void deep_ep::intranode::dispatch<8>(x)", CollectiveKind::all_to_all},
  };
  for (const auto& [name, kind] : table) {
    INFO(name);
    REQUIRE(kind_from_kernel(name) == kind);
    REQUIRE(work_of_kernel(name) == GpuWork::communication);
  }
}

TEST_CASE("vllm and hip kernels in general are computation") {
  REQUIRE(work_of_kernel("void vllm::rms_norm_kernel<c10::BFloat16>(x)") == GpuWork::compute);
  REQUIRE(work_of_kernel("hipkernel_gemm") == GpuWork::compute);
  REQUIRE(work_of_kernel("reduce_kernel<512, 1>") == GpuWork::compute);
}

TEST_CASE("AMD's copy and fill kernels are copies and fills") {
  REQUIRE(work_of_kernel("MEMORY_COPY_DEVICE_TO_HOST") == GpuWork::memcpy);
  REQUIRE(work_of_kernel("__amd_rocclr_copyBufferAligned") == GpuWork::memcpy);
  REQUIRE(work_of_kernel("__amd_rocclr_fillBufferAligned") == GpuWork::memset);
}

TEST_CASE("element types are known by c10 and C++ names, and an unknown type has no size") {
  const std::tuple<const char*, DType, int64_t> table[] = {
      {"Float", DType::float32, 4},          {"float", DType::float32, 4},      {"c10::BFloat16", DType::bfloat16, 2},
      {"c10::Half", DType::float16, 2},      {"long int", DType::int64, 8},     {"Long", DType::int64, 8},
      {"unsigned char", DType::uint8, 1},    {"Byte", DType::uint8, 1},         {"Float8_e4m3fn", DType::float8, 1},
      {"ComplexFloat", DType::complex64, 8}, {"NoSuchType", DType::unknown, 0},
  };
  for (const auto& [name, type, bytes] : table) {
    INFO(name);
    REQUIRE(dtype_from_name(name) == type);
    REQUIRE(element_bytes(type) == bytes);
  }
}
