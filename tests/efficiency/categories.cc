#include "skewscope/efficiency/categories.h"

#include <catch2/catch.hpp>

#include "tracelens_tables.h"

namespace skewscope::test {
namespace {

using efficiency::category;
using efficiency::tracelens_category;

// "[{'name': 'ampere_sgemm', 'stream': 7, …" -> "ampere_sgemm"
std::string first_kernel(const std::string& summary) {
  const std::string before = "[{'name': '";
  if (!summary.starts_with(before)) return "";
  return summary.substr(before.size(), summary.find("', 'stream'") - before.size());
}

TEST_CASE("the category of every row of TraceLens' tables of unique arguments is TraceLens'") {
  size_t compared = 0;
  for (const Table& table : tracelens_tables({"ops_unique_args"})) {
    for (const Row& row : table.rows) {
      const std::string kernel = first_kernel(row.at("kernel_details_summary"));
      INFO(table.set << " " << row.at("name") << " " << kernel);
      CHECK(tracelens_category(row.at("name"), kernel) == row.at("op category"));
      ++compared;
    }
  }
  CHECK((compared == 0 || compared > 200));
}

TEST_CASE("the exact name of an operator decides before its kernel") {
  CHECK(tracelens_category("aten::mm", "void at::native::elementwise_kernel") == "GEMM");
  CHECK(tracelens_category("aten::copy_", "") == "elementwise");
  CHECK(tracelens_category("aten::_scaled_dot_product_flash_attention_backward", "") == "SDPA_bwd");
  CHECK(tracelens_category("hipModuleLaunchKernel->kv_indices_generate_kernel", "") == "InferenceAttention");
}

TEST_CASE("names that start with triton, and record_param_comms anywhere, are categories of their own") {
  CHECK(tracelens_category("triton_poi_fused_add_0", "triton_poi_fused_add_0") == "triton");
  CHECK(tracelens_category("my_triton_op", "k") == "other");
  CHECK(tracelens_category("record_param_comms", "ncclKernel") == "record_param_comms");
}

TEST_CASE("a kernel of at::native tells elementwise, reduce and multi_tensor_apply, in this order") {
  CHECK(tracelens_category("aten::cos", "void at::native::vectorized_elementwise_kernel<4>") == "elementwise");
  CHECK(tracelens_category("aten::all", "void at::native::reduce_kernel<512>") == "reduce");
  CHECK(
      tracelens_category("aten::_foreach_add_", "void at::native::(anonymous namespace)::multi_tensor_apply_kernel") ==
      "multi_tensor_apply");
  CHECK(tracelens_category("x", "void at::native::reduce_elementwise") == "elementwise");
  CHECK(tracelens_category("x", "at::native::reduce_kernel") == "other");
}

TEST_CASE("skewscope names the class of a kernel where TraceLens has only other") {
  CHECK(tracelens_category("aten::_softmax", "void (anonymous namespace)::softmax_warp_forward<float>") == "other");
  CHECK(category("aten::_softmax", "void (anonymous namespace)::softmax_warp_forward<float>") == "softmax");
  CHECK(category("aten::_flash_attention_forward", "void pytorch_flash::flash_fwd_kernel<>") == "attention");
  CHECK(category("vllm::gemm", "nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT") == "GEMM");
  CHECK(category("my::gemm", "Cijk_Alik_Bljk_BBS_BH") == "GEMM");
  CHECK(category("aten::index_select", "void at::native::(anonymous namespace)::indexSelectLargeIndex<>") == "index");
  CHECK(category("aten::cat", "void at::native::(anonymous namespace)::CatArrayBatchedCopy<>") == "copy");
  CHECK(category("my::mm", "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(Params)") == "GEMM");
  CHECK(category("aten::mm", "") == "GEMM");
  CHECK(category("my::op", "my_kernel") == "other");
  CHECK(category("", "") == "other");
}

TEST_CASE("template arguments and parameters of a kernel do not tell its class") {
  CHECK(category("x", "void quantize<(Scale)2, flash::Layout>(int, int)") == "other");
  CHECK(category("x", "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)") == "other");
  CHECK(category("x", "void (anonymous namespace)::elementwise_kernel_with_index<int, arange_cuda_out>") ==
        "elementwise");
  CHECK(category("x", "void pool<reduce>::run(copy*)") == "other");
}

TEST_CASE("a user's table says of a category, too, which kernels communicate") {
  const auto own = KernelTable::parse(R"({"kernels": [
      {"functions": ["reduce_my_gradients*"], "kind": "none"}, {"functions": ["push_*"], "kind": "all_gather"}]})",
                                      "ours.json");
  REQUIRE(own.ok());
  CHECK(category("my::op", "void push_tokens<8>(x)") == "other");
  CHECK(category("my::op", "void push_tokens<8>(x)", own.value()) == "communication");
  CHECK(category("my::op", "void reduce_my_gradients(x)", own.value()) == "reduce");
}

TEST_CASE("communication is neither a reduction nor a gather") {
  CHECK(category("symm_mem::multimem_all_reduce_",
                 "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>") == "communication");
  CHECK(category("x", "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)") == "communication");
}

}  // namespace
}  // namespace skewscope::test
