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
      {"sparse_all_reduce", CollectiveKind::all_reduce},
      {"coalesced", CollectiveKind::coalesced},
      {"all_gather_v", CollectiveKind::all_gather},  // torchcomms, from here on
      {"all_gather_single", CollectiveKind::all_gather},
      {"reduce_scatter_v", CollectiveKind::reduce_scatter},
      {"reduce_scatter_single", CollectiveKind::reduce_scatter},
      {"all_to_all_v_single", CollectiveKind::all_to_all},
  };
  for (const auto& [name, kind] : table) {
    INFO(name);
    REQUIRE(kind_from_operation_name(name) == kind);
  }
}

TEST_CASE("wait and init are no operations") {
  REQUIRE_FALSE(kind_from_operation_name("wait"));
  REQUIRE_FALSE(kind_from_operation_name("init"));
  REQUIRE_FALSE(kind_from_operation_name("reconfigure"));
  REQUIRE_FALSE(kind_from_operation_name(""));
  REQUIRE_FALSE(kind_from_annotation("ProfilerStep#3"));
  REQUIRE_FALSE(kind_from_annotation("all_reduce"));
}

TEST_CASE("an operation whose name nobody taught us is one of unknown kind, a range of such a name none") {
  REQUIRE(kind_from_operation_name("alltoallv_dedup_exec") == CollectiveKind::unknown);
  REQUIRE_FALSE(kind_from_annotation("nccl:alltoallv_dedup_exec"));
}

TEST_CASE("an annotation tells the operation behind its backend's prefix") {
  REQUIRE(kind_from_annotation("nccl:_all_gather_base") == CollectiveKind::all_gather);
  REQUIRE(kind_from_annotation("gloo:all_reduce") == CollectiveKind::all_reduce);
  REQUIRE(kind_from_annotation("nccl:send 0->1") == CollectiveKind::send);
  for (const char* range : {"xccl:all_reduce", "hccl:all_reduce", "mccl:all_reduce", "cncl:all_reduce"}) {
    REQUIRE(kind_from_annotation(range) == CollectiveKind::all_reduce);
  }
}

TEST_CASE("a library's kernel names its operation behind the library's prefixes, in every version's order of words") {
  const std::pair<const char*, CollectiveKind> table[] = {
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", CollectiveKind::all_reduce},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", CollectiveKind::all_reduce},
      {"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", CollectiveKind::all_reduce},
      {"ncclBroadcastRingLLKernel_copy_i8(ncclWorkElem)", CollectiveKind::broadcast},
      {"ncclReduceRingLLKernel_sum_f32(ncclWorkElem)", CollectiveKind::reduce},
      {"ncclSendRecvKernel_copy_i8(ncclWorkElem)", CollectiveKind::unknown},
      {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_SIMPLE(x)", CollectiveKind::reduce_scatter},
      {"ncclDevKernel_Reduce_Sum_f32_RING_LL(x)", CollectiveKind::reduce},
      {"ncclDevKernel_Broadcast_RING_LL(x)", CollectiveKind::broadcast},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(x)", CollectiveKind::unknown},
      {"ncclSymDevKernel_AllReduce_AGxLL_R_sum_bf16(ncclSymDevArgs)", CollectiveKind::all_reduce},
      {"ncclSymkDevKernel_AllGather_STMC(ncclSymkDevWorkArgs4K)", CollectiveKind::all_gather},
      {"void ncclKernelAllGatherCtranDirect<float>(int*, CtranAlgoDeviceState*)", CollectiveKind::all_gather},
      {"void ncclKernelAllToAllv<float>(int*, CtranAlgoDeviceState*)", CollectiveKind::all_to_all},
      {"ncclKernelNvlBarrier(int, int, CtranAlgoDeviceState*)", CollectiveKind::barrier},
      {"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", CollectiveKind::unknown},
      {"ncclDevKernelDebug_Generic_4(ncclDevKernelArgsStorage<4096ul>)", CollectiveKind::unknown},
      {"rcclGenericKernel<1, false>(x)", CollectiveKind::unknown},
      {"mscclKernel_Sum_hip_bfloat16_Simple_false(ncclDevComm*, mscclAlgo*, mscclWork*)", CollectiveKind::unknown},
      {"oneccl_allreduce_pcie<sycl::half, Rt64_PCIE>", CollectiveKind::all_reduce},
      {"oneccl_alltoall_write_aligned<float, 8>", CollectiveKind::all_to_all},
      {"oneccl_reduce_base<float, 2, 16, 1, 1, 2>", CollectiveKind::unknown},
      {"hccl::all_reduce", CollectiveKind::all_reduce},
      {"mcclKernel_AllGather_RING_LL_Sum_int8_t(x)", CollectiveKind::all_gather},
  };
  for (const auto& [name, kind] : table) {
    INFO(name);
    REQUIRE(kind_from_kernel(name) == kind);
    REQUIRE(work_of_kernel(name) == GpuWork::communication);
    REQUIRE_FALSE(is_custom_communication_kernel(name));
  }
}

TEST_CASE("kernels of engines and of other libraries communicate, and their name tells what where it has the word") {
  const std::pair<const char*, CollectiveKind> table[] = {
      {"void vllm::cross_device_reduce_2stage<__hip_bfloat16, 8>(x)", CollectiveKind::all_reduce},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(x)", CollectiveKind::all_reduce},
      {"void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 2>(x)",
       CollectiveKind::all_reduce},
      {"c10d::symmetric_memory::barrier_kernel(unsigned int**, int, int, int, unsigned long)", CollectiveKind::barrier},
      {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<x>(y)",
       CollectiveKind::all_reduce},
      {"void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<(unsigned char)8>(x)",
       CollectiveKind::all_reduce},
      {"void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8, true, false>(x)", CollectiveKind::all_reduce},
      {"void tensorrt_llm::kernels::lamport_style_one_shot_all_reduce_norm_kernel<x>(y)", CollectiveKind::all_reduce},
      {"void fbgemm_gpu::two_shot_all_reduce<8, false>(int, int, x)", CollectiveKind::all_reduce},
      {"void mori::moe::EpCombineSyncBarrier_bf16(x)", CollectiveKind::barrier},
      {"moeA2ADispatchKernel(int const*, x)", CollectiveKind::all_to_all},
      {"void all_reduce_one_shot_push_kernel<__nv_bfloat16, 8u>(x)", CollectiveKind::all_reduce},
      {"void aiter::allreduce_fusion_kernel_1stage<x, x, 4, true>(y)", CollectiveKind::all_reduce},
      {"void aiter::reduce_scatter_cross_device_store<x, 8>(y)", CollectiveKind::reduce_scatter},
      {"_ZN5aiter33reduce_scatter_cross_device_storeIDF16bLi8EEEvPNS_8RankDataE", CollectiveKind::reduce_scatter},
      {"void quickreduce::allreduce_prototype_twoshot<x, __half>(y)", CollectiveKind::all_reduce},
      {"void userbuffers_fp16_sum_inplace_gpu_mc<8>(int, int)", CollectiveKind::all_reduce},
      {"void userbuffers_fp16_sum_inplace_gpu_rr_ag<2>(int, int)", CollectiveKind::all_gather},
      {"kuserbuffers_pushsend(int*, int*, int4*, int4*, int)", CollectiveKind::send},
      {"kuserbuffers_pushsendrecv(int*, int*, int4*, int4*, int)", CollectiveKind::unknown},
      {"void deep_ep::intranode::dispatch<8>(x)", CollectiveKind::all_to_all},
      {"void dpsk::ep::internode::dispatch_ll<7168>(void*)", CollectiveKind::all_to_all},
      {"void uccl::internode_ll::dispatch<true>(x)", CollectiveKind::all_to_all},
      {"nccl_ep_jit_ht_dispatch_kernel", CollectiveKind::all_to_all},
      {"void mori::moe::EpDispatchIntraNodeKernel<hip_bfloat16>(x)", CollectiveKind::all_to_all},
      {"void mori::moe::EpCombineLowLatencyAsyncSend<hip_bfloat16>(x)", CollectiveKind::all_to_all},
      {"EpDispatchLowLatencyAsyncRecv_bf16", CollectiveKind::all_to_all},
      {"void a2a_kernels::a2a_dispatch_send_kernel<true, 4, 8>(x)", CollectiveKind::all_to_all},
      {"void a2a_combine_recv_kernel<4, 8, unsigned char>(x)", CollectiveKind::all_to_all},
      {"void hybrid_ep::combine_kernel<x>(y)", CollectiveKind::all_to_all},
      {"nvshmemi_alltoall_on_stream_kernel(x)", CollectiveKind::all_to_all},
      {"void rocshmem::put_kernel<x>(y)", CollectiveKind::unknown},
  };
  for (const auto& [name, kind] : table) {
    INFO(name);
    REQUIRE(kind_from_kernel(name) == kind);
    REQUIRE(work_of_kernel(name) == GpuWork::communication);
    REQUIRE(is_custom_communication_kernel(name));
  }
}

TEST_CASE("a kernel that only has a collective's word in its name, its arguments or its template is computation") {
  for (const char* name :
       {"triton_poi_fused_add_all_reduce_4", "triton_red_fused_all_gather_into_tensor_0",
        "void block_all_reduce_sum_f32_f32_kernel<256>(float*, float*, int)",
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<AllReduceEpilogue>>(x)",
        "void gemm_allreduce_kernel<x>(y)", "nccl_fp8_cast", "void rccl_metrics(x)",
        "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(x)", "void aiter::local_device_load_rmsnorm<x, 512>(y)",
        "void flash_fwd_splitkv_combine_kernel<x>(y)",
        "void at::native::_scatter_gather_elementwise_kernel<128, 8>(x)"}) {
    INFO(name);
    REQUIRE(work_of_kernel(name) == GpuWork::compute);
  }
}

TEST_CASE("a kernel of NCCL communicates behind a namespace and mangled, too") {
  for (const char* name : {"_Z21ncclDevKernel_Generic24ncclDevKernelArgsStorageILm4096EE.kd",
                           "void meta::ncclKernel_Other<x>(y)", "void my::nccl::copy_kernel(x)"}) {
    INFO(name);
    REQUIRE(work_of_kernel(name) == GpuWork::communication);
  }
}

TEST_CASE("a custom all-reduce tells by its last template argument for how many ranks it is made") {
  CHECK(ranks_of_kernel("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, int)") == 2);
  CHECK(ranks_of_kernel("void sglang::cross_device_reduce_2stage<half, 8>(RankData*)") == 8);
  CHECK(ranks_of_kernel("void vllm::cross_device_reduce_1stage<float, N>(RankData*)") == -1);
  CHECK(ranks_of_kernel("void vllm::cross_device_reduce_1stage<float>(std::pair<int, 4>)") == -1);
  CHECK(ranks_of_kernel("void vllm::cross_device_reduce_1stage<float, 99999999999>(RankData*)") == -1);
  CHECK(ranks_of_kernel("multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)") == -1);
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
