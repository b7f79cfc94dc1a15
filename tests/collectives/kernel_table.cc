#include "collectives/kernel_table.h"

#include <catch2/catch.hpp>

#include "collectives/kernel_names.h"

using namespace skewscope;

namespace {

KernelNature nature_of(const char* kernel) { return KernelTable::built_in().nature_of(kernel); }
GpuWork work_of(const char* kernel) { return KernelTable::built_in().work_of(kernel); }

}  // namespace

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
    REQUIRE(nature_of(name).kind == kind);
    REQUIRE(work_of(name) == GpuWork::communication);
    REQUIRE_FALSE(nature_of(name).custom);
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
      {"void mooncake::dispatch<true, 4, 8, 7168>(void*, float*)", CollectiveKind::all_to_all},
      {"void mooncake::elastic::hybrid_combine_impl<false, 24>(x)", CollectiveKind::all_to_all},
      {"mooncake_ep_jit_elastic_hybrid_dispatch_kernel", CollectiveKind::all_to_all},
      {"mooncake::mark_and_wait_phase_ack_kernel(void*, int const*)", CollectiveKind::barrier},
      {"void mooncake::(anonymous namespace)::ringAllReduceKernel<float, (mooncake::ReduceOp)0>(x)",
       CollectiveKind::all_reduce},
      {"mooncake::enqueueTaskKernel(c10d::OpType, unsigned long, long)", CollectiveKind::unknown},
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
    REQUIRE(nature_of(name).kind == kind);
    REQUIRE(work_of(name) == GpuWork::communication);
    REQUIRE(nature_of(name).custom);
    REQUIRE_FALSE(nature_of(name).only_by_word);
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
    REQUIRE(work_of(name) == GpuWork::compute);
  }
}

TEST_CASE("a kernel of NCCL communicates behind a namespace and mangled, too") {
  for (const char* name : {"_Z21ncclDevKernel_Generic24ncclDevKernelArgsStorageILm4096EE.kd",
                           "void meta::ncclKernel_Other<x>(y)", "void my::nccl::copy_kernel(x)"}) {
    INFO(name);
    REQUIRE(work_of(name) == GpuWork::communication);
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
  REQUIRE(work_of("void vllm::rms_norm_kernel<c10::BFloat16>(x)") == GpuWork::compute);
  REQUIRE(work_of("hipkernel_gemm") == GpuWork::compute);
  REQUIRE(work_of("reduce_kernel<512, 1>") == GpuWork::compute);
}

TEST_CASE("AMD's copy and fill kernels are copies and fills") {
  REQUIRE(work_of("MEMORY_COPY_DEVICE_TO_HOST") == GpuWork::memcpy);
  REQUIRE(work_of("__amd_rocclr_copyBufferAligned") == GpuWork::memcpy);
  REQUIRE(work_of("__amd_rocclr_fillBufferAligned") == GpuWork::memset);
}

TEST_CASE("of the kernels around an expert's tokens those communicate that send or wait, not those that prepare") {
  const std::pair<const char*, GpuWork> table[] = {
      {"void deep_ep::legacy::intranode::dispatch<8, 768, 8192>(int4*, float*, int*)", GpuWork::communication},
      {"void deep_ep::legacy::internode_ll::combine<true, 7168, 11, 9>(void*, void*)", GpuWork::communication},
      {"void deep_ep::elastic::dispatch_impl<512, 8, 7168>(void*, unsigned int*)", GpuWork::communication},
      {"void deep_ep::elastic::hybrid_combine_impl<512>(void*)", GpuWork::communication},
      {"_ZN7deep_ep6legacy9intranode7combineI13__nv_bfloat16Li8EEEvPT_", GpuWork::communication},
      {"void deep_ep::legacy::layout::get_dispatch_layout<256, 4, 8>(long const*)", GpuWork::compute},
      {"void deep_ep::elastic::dispatch_copy_epilogue_impl<512, 7168>(void*)", GpuWork::compute},
      {"void deep_ep::elastic::combine_reduce_epilogue_impl<512, 7168>(void*)", GpuWork::compute},
      {"void mooncake::combine<7168, 9>(void*, int*)", GpuWork::communication},
      {"void mooncake::elastic::dispatch_deterministic_prologue_impl<8>(x)", GpuWork::compute},
      {"void mooncake::elastic::combine_reduce_epilogue_kernel_impl<false>(x)", GpuWork::compute},
      {"mooncake_ep_jit_elastic_dispatch_copy_epilogue_kernel", GpuWork::compute},
      {"void mooncake::reduceKernel<float>(float*, float const*, unsigned long)", GpuWork::compute},
      {"void (anonymous namespace)::dispatchKernel<16, true, true>(int*)", GpuWork::communication},
      {"_ZN12_GLOBAL__N_113combineKernelILj16EEEvPT_", GpuWork::communication},
      {"void somebody::dispatchKernel<16>(int*)", GpuWork::compute},
      {"void flashinfer::comm::pcie_ipc::push_oneshot_param_kernel<__nv_bfloat16, 8>(x)", GpuWork::communication},
      {"void flashinfer::comm::pcie_ipc::ipc_rsag_ring_push_param_kernel<__half, 8>(x)", GpuWork::communication},
      {"tensorrt_llm::kernels::moe_alltoall::moeA2ACombineKernel(x)", GpuWork::communication},
      {"void tensorrt_llm::kernels::moe_alltoall::moeA2ASanitizeExpertIdsKernel(int*, int)", GpuWork::compute},
      {"tensorrt_llm::kernels::moe_alltoall::moeA2APrepareDispatchKernel(int*)", GpuWork::compute},
      {"void vllm::moe::moe_align_block_size_kernel<int>(int const*)", GpuWork::compute},
      {"void mori::moe::EpDispatchLowLatencyAsyncRecvCopy<hip_bfloat16>(x)", GpuWork::compute},
      {"kernel_dispatch_token_intra_node", GpuWork::communication},
      {"void alltoall_on_stream_kernel<float>(int, float*)", GpuWork::communication},
      {"void mscclpp::allreduceRsAgZeroCopy<float>(x)", GpuWork::communication},
  };
  for (const auto& [name, work] : table) {
    INFO(name);
    CHECK(work_of(name) == work);
  }
}

TEST_CASE("a namespace that holds an operation's word decides nothing") {
  for (const char* name : {"void my_all_reduce::count_tokens<8>(int*)", "_ZN10all_gather7prepareEv",
                           "void alltoall::(anonymous namespace)::pack<float>(x)"}) {
    INFO(name);
    CHECK(work_of(name) == GpuWork::compute);
  }
}

TEST_CASE("a kernel that nobody knows communicates by its word alone, and says so") {
  const KernelNature nature = nature_of("void megatron_grads_all_reduce_kernel<float>(float*, int)");
  CHECK(nature.communicates);
  CHECK(nature.only_by_word);
  CHECK(nature.kind == CollectiveKind::all_reduce);
}

TEST_CASE("a kernel that only sends waits for nobody") {
  CHECK_FALSE(nature_of("void a2a_kernels::a2a_dispatch_send_kernel<true, 4, 8>(x)").waits);
  CHECK(nature_of("void a2a_kernels::a2a_dispatch_recv_kernel<true, 4, 8>(x)").waits);
}

TEST_CASE("a user's table comes before the built-in one") {
  const auto table = KernelTable::parse(R"({"kernels": [
      {"functions": ["megatron_grads_*"], "kind": "none"},
      {"namespace": "ours", "functions": ["push_*"], "kind": "all_gather", "waits": false, "source": "our wiki"},
      {"functions": ["ncclDevKernel_Generic*"], "kind": "named"}]})",
                                        "ours.json");
  REQUIRE(table.ok());
  const KernelTable& own = table.value();
  CHECK(own.work_of("void megatron_grads_all_reduce_kernel<float>(x)") == GpuWork::compute);
  CHECK(own.nature_of("void ours::push_tokens<8>(x)").kind == CollectiveKind::all_gather);
  CHECK_FALSE(own.nature_of("void ours::push_tokens<8>(x)").waits);
  CHECK(own.work_of("void theirs::push_tokens<8>(x)") == GpuWork::compute);
  CHECK(own.work_of("void vllm::cross_device_reduce_1stage<float, 2>(x)") == GpuWork::communication);
  CHECK_FALSE(own.mark().empty());
  CHECK(KernelTable::built_in().mark().empty());
}

TEST_CASE("a table that cannot be used says which entry lacks what") {
  const std::pair<const char*, const char*> table[] = {
      {"no table", "ours.json: no JSON"},
      {"[]", "has no list \"kernels\""},
      {R"({"kernels": [{"functions": ["a"], "kind": "all_reduce"}, {"kind": "none"}]})", "entry 2 has no list"},
      {R"({"kernels": [{"functions": ["a"], "kind": "sum"}]})", "entry 1 has no \"kind\""},
      {R"({"kernels": [{"functions": [""], "kind": "none"}]})", "holds what is no text"},
      {R"({"kernels": [{"functions": ["a"], "kind": "barrier", "waits": 1}]})", "\"waits\""},
  };
  for (const auto& [json, what] : table) {
    const auto parsed = KernelTable::parse(json, "ours.json");
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().message.find(what) != std::string::npos);
  }
  CHECK_FALSE(KernelTable::load("/nowhere/ours.json").ok());
}

TEST_CASE("a kernel's path has its namespaces and its function, without what it returns and its arguments") {
  using Path = std::vector<std::string>;
  CHECK(path_of_kernel("void a::(anonymous namespace)::put<b::c, 8>(d::e)") ==
        Path{"a", "(anonymous namespace)", "put"});
  CHECK(path_of_kernel("std::enable_if<(x)4>::type run<int>(int)") == Path{"run"});
  CHECK(path_of_kernel("plain_kernel_0") == Path{"plain_kernel_0"});
  CHECK(path_of_kernel("_Z5twicePi") == Path{"twice"});
  CHECK(path_of_kernel("_Z99x") == Path{"_Z99x"});
  CHECK(path_of_kernel("") == Path{""});
}
