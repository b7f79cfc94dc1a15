// Work of operators that pick, place, sort, pool, quantise and cache; calculated by hand.
#include <catch2/catch.hpp>

#include "recorded_call.h"

namespace skewscope::test {
namespace {

using efficiency::Work;

TEST_CASE("what an index picks is read and written once, with the index") {
  // rows 7 of 100 x 16 halves
  const Work rows =
      work("aten::index_select", "[[100, 16], [], [7]]", R"(["c10::Half", "Scalar", "long int"])", R"(["", "0", ""])");
  CHECK(rows.flops == 0);
  CHECK(rows.bytes == 2 * 2 * 7 * 16 + 8 * 7);
  const Work columns =
      work("aten::index_select", "[[100, 16], [], [7]]", R"(["c10::Half", "Scalar", "long int"])", R"(["", "-1", ""])");
  CHECK(columns.bytes == 2 * 2 * 100 * 7 + 8 * 7);
  const Work unknown = work("aten::index_select", "[[100, 16], [], [7]]", R"(["c10::Half", "Scalar", "long int"])");
  CHECK(unknown.unknown == "dimension not recorded");
  const Work gather = work("aten::gather", "[[100, 16], [], [100, 2], []]",
                           R"(["float", "Scalar", "long int", "Scalar"])", R"(["", "1", "", "False"])");
  CHECK(gather.bytes == 2 * 4 * 200 + 8 * 200);
}

TEST_CASE(
    "compiled kernels move each operand once, in place twice where that is all they have; what they compute is "
    "unknown") {
  const Work gelu = work("triton_poi_fused_gelu_0", "[[128, 512], [128, 512], []]", R"(["float", "float", "Scalar"])");
  CHECK(gelu.bytes == 2 * 4 * 128 * 512);
  CHECK_FALSE(gelu.flops);
  CHECK(gelu.unknown == "what it fuses is not recorded");
  // a bias of 512 halves, added to a product in place: the trace does not tell which operand that is
  const Work bias =
      work("triton_poi_fused_addmm_relu_3", "[[128, 512], [512], []]", R"(["c10::Half", "c10::Half", "Scalar"])");
  CHECK(bias.bytes == 2 * (128 * 512 + 512));
  CHECK(work("triton_poi_fused_relu_1", "[[64, 16], []]", R"(["float", "Scalar"])").bytes == 2 * 4 * 64 * 16);
  const Work sum =
      work("triton_red_fused_sum_0", "[[128, 256], [1, 256], [], []]", R"(["float", "float", "Scalar", "Scalar"])");
  CHECK(sum.bytes == 4 * (128 * 256 + 256));
  CHECK(work("triton_per_fused_native_layer_norm_2", "[[8, 32], [8, 1], [8, 32], [], []]",
             R"(["c10::BFloat16", "float", "c10::BFloat16", "Scalar", "Scalar"])")
            .bytes == 2 * 256 + 4 * 8 + 2 * 256);
  CHECK(work("triton_poi_fused_gelu_0", "", "").unknown == "shapes not recorded");
}

TEST_CASE("a scatter touches what it places; one that adds reads it, too") {
  const std::string types = R"(["float", "Scalar", "long int", "float"])";
  CHECK(work("aten::scatter_", "[[100, 16], [], [5, 16], [5, 16]]", types).bytes == 2 * 4 * 80 + 8 * 80);
  const Work number =
      work("aten::scatter_", "[[100, 16], [], [5, 16], []]", R"(["float", "Scalar", "long int", "Scalar"])");
  CHECK(number.bytes == 4 * 80 + 8 * 80);
  const Work added = work("aten::scatter_add_", "[[100, 16], [], [5, 16], [5, 16]]", types);
  CHECK(added.flops == 80);
  CHECK(added.bytes == 3 * 4 * 80 + 8 * 80);
  const Work rows = work("aten::index_add_", "[[100, 16], [], [5], [5, 16], []]",
                         R"(["float", "Scalar", "long int", "float", "Scalar"])");
  CHECK(rows.flops == 80);
  CHECK(rows.bytes == 3 * 4 * 80 + 8 * 5);
}

TEST_CASE("the gradient of an embedding is written whole; a bag of embeddings is summed up") {
  const Work gradient =
      work("aten::embedding_dense_backward", "[[2, 3, 16], [2, 3], [], [], []]",
           R"(["float", "long int", "Scalar", "Scalar", "Scalar"])", R"(["", "", "100", "-1", "False"])");
  CHECK(gradient.flops == 96);
  CHECK(gradient.bytes == 4 * 96 + 8 * 6 + 4 * 100 * 16);
  // 20 indices in 4 bags
  const Work bags = work("aten::_embedding_bag", "[[100, 16], [20], [4], [], [], [], [], [], []]",
                         R"(["float", "long int", "long int", "Scalar", "Scalar", "Scalar", "", "Scalar", "Scalar"])",
                         R"(["", "", "", "False", "0", "False", "", "False", "-1"])");
  CHECK(bags.flops == 20 * 16);
  CHECK(bags.bytes == 4 * (20 + 4) * 16 + 8 * (20 + 4));
}

TEST_CASE("a sort leaves values and where they stood, topk the first k of each row") {
  CHECK(work("aten::sort", "[[10, 6], [], [], []]", R"(["float", "Scalar", "Scalar", "Scalar"])").bytes ==
        4 * 60 + (4 + 8) * 60);
  const Work topk = work("aten::topk", "[[10, 6], [], [], [], []]",
                         R"(["float", "Scalar", "Scalar", "Scalar", "Scalar"])", R"(["", "2", "-1", "True", "True"])");
  CHECK(topk.flops == 0);
  CHECK(topk.bytes == 4 * 60 + (4 + 8) * 20);
  CHECK(work("aten::tril", "[[10, 6], []]", R"(["float", "Scalar"])").bytes == 2 * 4 * 60);
}

TEST_CASE("keys and values go into a cache in its type") {
  // 5 tokens, 2 heads of 64, halves, into a cache of bytes
  const Work cached =
      work("_C_cache_ops::reshape_and_cache_flash",
           "[[5, 2, 64], [5, 2, 64], [100, 16, 2, 64], [100, 16, 2, 64], [5], [], [], []]",
           R"(["c10::Half", "c10::Half", "unsigned char", "unsigned char", "long int", "", "float", "float"])");
  CHECK(cached.flops == 2 * 640);  // scaled
  CHECK(cached.bytes == 2 * 1280 + 1280 + 8 * 5);
  const Work plain = work("_C_cache_ops::concat_and_cache_mla", "[[5, 512], [5, 64], [100, 16, 576], [5], [], []]",
                          R"(["c10::Half", "c10::Half", "c10::Half", "long int", "", "float"])");
  CHECK(plain.flops == 0);
  CHECK(plain.bytes == 2 * 2 * 5 * 576 + 8 * 5);
}

const std::string kPoolTypes = R"(["float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar"])";

TEST_CASE("a maximum pool compares each window and writes where the largest stood") {
  // ResNet: 3 x 3, stride 2, padding 1: 112 -> 56
  const Work pool = work("aten::max_pool2d_with_indices", "[[10, 64, 112, 112], [], [], [], [], []]", kPoolTypes,
                         R"(["", "[3, 3]", "[2, 2]", "[1, 1]", "[1, 1]", "False"])");
  CHECK(pool.flops == int64_t{9} * 640 * 56 * 56);
  CHECK(pool.bytes == 4 * (640 * 112 * 112 + 640 * 56 * 56) + 8 * 640 * 56 * 56);
  // 5 wide, windows of 2 by 2: two, or three where the last may hang over
  const auto size = [&](const char* ceiling) {
    return work("aten::max_pool2d_with_indices", "[[1, 1, 5, 5], [], [], [], [], []]", kPoolTypes,
                std::string(R"(["", "[2]", "[]", "[0]", "[1]", ")") + ceiling + "\"]")
        .flops;
  };
  CHECK(size("False") == 4 * 2 * 2);
  CHECK(size("True") == 4 * 3 * 3);
  CHECK(work("aten::max_pool2d_with_indices", "[[1, 1, 2, 2], [], [], [], [], []]", kPoolTypes,
             R"(["", "[3]", "[1]", "[0]", "[1]", "False"])")
            .unknown == "shapes do not fit");
  CHECK(work("aten::max_pool2d_with_indices", "[[1, 1, 5, 5], [], [], [], [], []]", kPoolTypes).unknown ==
        "window not recorded");
}

TEST_CASE("the gradient of a maximum pool reads gradients and indices and writes the input's size") {
  const Work gradient =
      work("aten::max_pool2d_with_indices_backward",
           "[[10, 64, 56, 56], [10, 64, 112, 112], [], [], [], [], [], [10, 64, 56, 56]]",
           R"(["float", "float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar", "long int"])");
  CHECK(gradient.flops == 640 * 56 * 56);
  CHECK(gradient.bytes == (4 + 8) * 640 * 56 * 56 + 4 * 640 * 112 * 112);
}

TEST_CASE("a mean pool adds each window and divides once") {
  const Work pool = work("aten::avg_pool2d", "[[1, 1, 4, 4], [], [], [], []]",
                         R"(["float", "ScalarList", "ScalarList", "ScalarList", "Scalar"])",
                         R"(["", "[2, 2]", "[2, 2]", "[0, 0]", "False"])");
  CHECK(pool.flops == 5 * 4);
  CHECK(pool.bytes == 4 * (16 + 4));
  const Work adaptive =
      work("aten::_adaptive_avg_pool2d", "[[1, 3, 8, 8], []]", R"(["float", "ScalarList"])", R"(["", "[2, 2]"])");
  CHECK(adaptive.flops == 192 + 12);
  CHECK(adaptive.bytes == 4 * (192 + 12));
}

TEST_CASE("quantising multiplies each element by a scale; a scale of its own needs the largest first") {
  const std::string types = R"(["c10::Float8_e4m3fn", "c10::BFloat16", "float"])";
  const Work fixed = work("_C::static_scaled_fp8_quant", "[[5, 8], [5, 8], []]", types);
  CHECK(fixed.flops == 40);
  CHECK(fixed.bytes == 40 + 2 * 40 + 4);
  const Work per_token = work("_C::dynamic_per_token_scaled_fp8_quant", "[[5, 8], [5, 8], [5, 1], []]",
                              R"(["c10::Float8_e4m3fn", "c10::BFloat16", "float", ""])");
  CHECK(per_token.flops == 2 * 40);
  CHECK(per_token.bytes == 40 + 2 * 40 + 4 * 5);
  const Work gate = work("_C::silu_and_mul_quant", "[[5, 8], [5, 16], [1]]", types);
  CHECK(gate.flops == 3 * 40);
  CHECK(gate.bytes == 40 + 2 * 80 + 4);
  const Work norm = work("_C::rms_norm_static_fp8_quant", "[[5, 8], [5, 8], [8], [1], []]",
                         R"(["c10::Float8_e4m3fn", "c10::Half", "c10::Half", "float", "Scalar"])");
  CHECK(norm.flops == 4 * 40 + 2 * 5 + 40);
  CHECK(norm.bytes == 40 + 2 * 40 + 2 * 8 + 4);
  const Work added = work("_C::fused_add_rms_norm_static_fp8_quant", "[[5, 8], [5, 8], [5, 8], [8], [1], []]",
                          R"(["c10::Float8_e4m3fn", "c10::Half", "c10::Half", "c10::Half", "float", "Scalar"])");
  CHECK(added.flops == 4 * 40 + 2 * 5 + 2 * 40);
  CHECK(added.bytes == 40 + 2 * 40 + 2 * 2 * 40 + 2 * 8 + 4);
  const Work dynamic = work("_C::rms_norm_dynamic_per_token_quant", "[[5, 8], [5, 8], [8], [5, 1], [], [], [5, 8]]",
                            R"(["c10::Float8_e4m3fn", "c10::Half", "c10::Half", "float", "Scalar", "", "c10::Half"])");
  CHECK(dynamic.flops == 4 * 40 + 2 * 5 + 3 * 40);
  CHECK(dynamic.bytes == 40 + 2 * 40 + 2 * 8 + 4 * 5 + 2 * 2 * 40);
}

TEST_CASE("results that come first, and functions of three operands") {
  CHECK(work("_C::gelu_new", "[[5, 8], [5, 8]]", R"(["c10::Half", "c10::Half"])").bytes == 2 * 80);
  CHECK(work("_C::gelu_and_mul", "[[5, 8], [5, 16]]", R"(["c10::Half", "c10::Half"])").flops == 2 * 40);
  const Work moved = work("aten::addcmul_", "[[10], [10], [10], []]", R"(["float", "float", "float", "Scalar"])");
  CHECK(moved.flops == 10);
  CHECK(moved.bytes == 4 * 4 * 10);
  const Work dropout = work("aten::native_dropout", "[[10], [], []]", R"(["float", "Scalar", "Scalar"])");
  CHECK(dropout.bytes == (4 + 4 + 1) * 10);
  CHECK(work("aten::logical_not", "[[10]]", R"(["float"])").bytes == 4 * 10 + 10);
  CHECK(work("aten::uniform_", "[[10], [], [], []]", R"(["float", "Scalar", "Scalar", ""])").bytes == 40);
}

TEST_CASE("products whose result comes first or has its own type") {
  const Work cutlass =
      work("_C::cutlass_scaled_mm", "[[4, 16], [4, 8], [8, 16], [1], [1], [16]]",
           R"(["c10::BFloat16", "c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "c10::BFloat16"])");
  CHECK(cutlass.flops == 2 * 4 * 8 * 16 + 64);
  CHECK(cutlass.bytes == 4 * 8 + 8 * 16 + 2 * 64 + 2 * 16);
  const Work trtllm = work("trtllm::cublas_scaled_mm", "[[4, 8], [8, 16], [], [], [], []]",
                           R"(["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "", "Scalar"])",
                           R"(["", "", "", "", "", "15"])");
  CHECK(trtllm.bytes == 4 * 8 + 8 * 16 + 2 * 64);
  const Work int8 =
      work("bitsandbytes::int8_linear_matmul", "[[2, 4, 8], [16, 8]]", R"(["signed char", "signed char"])");
  CHECK(int8.flops == 2 * 8 * 8 * 16);
  CHECK(int8.bytes == 8 * 8 + 8 * 16 + 4 * 8 * 16);
  const Work vector = work("aten::addmv_", "[[4], [4, 8], [8], [], []]",
                           R"(["float", "float", "float", "Scalar", "Scalar"])", R"(["", "", "", "0", "1"])");
  CHECK(vector.flops == 2 * 4 * 8);
  CHECK(vector.bytes == 4 * (4 * 8 + 8 + 4));
}

TEST_CASE("either product of experts counts its half; a sum of experts adds what they gave") {
  // 4 tokens of 8, 16 wide, 3 experts, 2 each: a share of 1 - (1 - 2/3)^4 = 80/81 of the weights
  const std::string types =
      R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "int", "int", "int", "c10::BFloat16", "Scalar"])";
  const std::string values = R"(["", "", "", "", "", "", "", "2"])";
  const Work up =
      work("aiter::ck_moe_stage1", "[[4, 8], [3, 32, 8], [3, 8, 16], [99], [9], [1], [4, 2, 16], []]", types, values);
  CHECK(up.flops == 2 * 4 * 2 * 32 * 8);
  CHECK(up.bytes == 2 * (4 * 8 + 4 * 2 * 16) + 1517);  // 3 * 32 * 8 * 2 * 80 / 81 = 1517.04
  const Work down =
      work("aiter::ck_moe_stage2", "[[4, 2, 16], [3, 32, 8], [3, 8, 16], [99], [9], [1], [4, 8], []]", types, values);
  CHECK(down.flops == 2 * 4 * 2 * 8 * 16 + 4 * 8 * 3);
  CHECK(down.bytes == 2 * (4 * 2 * 16 + 4 * 8) + 759);  // 768 * 80 / 81 = 758.5
  const Work sum = work("_moe_C::moe_sum", "[[4, 2, 8], [4, 8]]", R"(["c10::Half", "c10::Half"])");
  CHECK(sum.flops == 4 * 8);
  CHECK(sum.bytes == 2 * (64 + 32));
  const Work gate =
      work("_moe_C::topk_softmax", "[[4, 2], [4, 2], [4, 2], [4, 3]]", R"(["float", "int", "int", "float"])");
  CHECK(gate.flops == 5 * 12);
  CHECK(gate.bytes == 4 * (8 + 8 + 8 + 12));
}

TEST_CASE("attention over a cache that is no argument says so") {
  const Work cached =
      work("vllm::unified_attention_with_output", "[[5, 8, 64], [5, 1, 64], [5, 1, 64], [5, 8, 64], []]",
           R"(["c10::Half", "c10::Half", "c10::Half", "c10::Half", ""])");
  CHECK_FALSE(cached.flops);
  CHECK_FALSE(cached.bytes);
  CHECK(cached.unknown == "lengths of the cached sequences not recorded");
}

}  // namespace
}  // namespace skewscope::test
