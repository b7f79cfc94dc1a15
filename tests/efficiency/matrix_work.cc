// Work of matrix units, calculated by hand: products, convolutions, attention, experts.
#include <catch2/catch.hpp>

#include "recorded_call.h"

namespace skewscope::test {
namespace {

using efficiency::ComputeKind;
using efficiency::Precision;
using efficiency::Work;

TEST_CASE("a product is 2MNK FLOPs and each matrix once") {
  // M 4, K 8, N 16, halves
  const Work mm = work("aten::mm", "[[4, 8], [8, 16]]", R"(["c10::Half", "c10::Half"])");
  CHECK(mm.flops == 2 * 4 * 8 * 16);
  CHECK(mm.bytes == 2 * (4 * 8 + 8 * 16 + 4 * 16));
  CHECK(mm.compute == ComputeKind::matrix);
  CHECK(mm.precision == Precision::fp16);
  CHECK(mm.unknown == "");
  CHECK(parameter(mm, "M") == "4");
  CHECK(parameter(mm, "N") == "16");
  CHECK(parameter(mm, "K") == "8");
  CHECK(parameter(mm, "bias") == "false");
}

TEST_CASE("a bias is one FLOP per result and is read as recorded: a row, or a matrix, or not at all with beta 0") {
  const std::string types = R"(["float", "float", "float", "Scalar", "Scalar"])";
  const std::string ones = R"(["", "", "", "1", "1"])";
  const Work row = work("aten::addmm", "[[16], [4, 8], [8, 16], [], []]", types, ones);
  CHECK(row.flops == 2 * 4 * 8 * 16 + 4 * 16);
  CHECK(row.bytes == 4 * (4 * 8 + 8 * 16 + 4 * 16 + 16));
  const Work matrix = work("aten::addmm", "[[4, 16], [4, 8], [8, 16], [], []]", types, ones);
  CHECK(matrix.bytes == 4 * (4 * 8 + 8 * 16 + 4 * 16 + 4 * 16));
  const Work none = work("aten::addmm", "[[4, 16], [4, 8], [8, 16], [], []]", types, R"(["", "", "", "0", "1"])");
  CHECK(none.flops == 2 * 4 * 8 * 16);
  CHECK(parameter(none, "bias") == "false");
}

TEST_CASE("a batched product is one product per batch") {
  const Work bmm = work("aten::bmm", "[[3, 4, 8], [3, 8, 16]]", R"(["float", "float"])");
  CHECK(bmm.flops == 3 * 2 * 4 * 8 * 16);
  CHECK(bmm.bytes == 3 * 4 * (4 * 8 + 8 * 16 + 4 * 16));
  const Work baddbmm = work("aten::baddbmm", "[[3, 4, 16], [3, 4, 8], [3, 8, 16], [], []]",
                            R"(["float", "float", "float", "Scalar", "Scalar"])", R"(["", "", "", "1", "1"])");
  CHECK(baddbmm.flops == 3 * (2 * 4 * 8 * 16 + 4 * 16));
  CHECK(baddbmm.bytes == 3 * 4 * (4 * 8 + 8 * 16 + 2 * 4 * 16));
}

TEST_CASE("an expanded operand is the same memory for each batch") {
  const Work bmm =
      work("aten::bmm", "[[3, 4, 8], [3, 8, 16]]", R"(["float", "float"])", "", "[[32, 8, 1], [0, 16, 1]]");
  CHECK(bmm.bytes == 4 * (3 * 4 * 8 + 8 * 16 + 3 * 4 * 16));
}

TEST_CASE("an 8-bit product reads bytes, writes its result's type and adds its bias") {
  const std::string types =
      R"(["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "c10::BFloat16", "", "Scalar", "Scalar"])";
  const Work scaled = work("aten::_scaled_mm", "[[4, 8], [8, 16], [], [], [16], [], [], []]", types,
                           R"(["", "", "", "", "", "", "15", "False"])");
  CHECK(scaled.flops == 2 * 4 * 8 * 16 + 4 * 16);
  CHECK(scaled.bytes == 4 * 8 + 8 * 16 + 2 * 16 + 2 * 4 * 16);
  CHECK(scaled.precision == Precision::fp8);
}

TEST_CASE("weights stored by row give N, and a result among the arguments its type") {
  const Work given = work("aiter::gemm_a8w8_ck", "[[4, 8], [16, 8], [4, 1], [1, 16], [4, 16]]",
                          R"(["signed char", "signed char", "float", "float", "c10::BFloat16"])");
  CHECK(given.flops == 2 * 4 * 8 * 16);
  CHECK(given.bytes == 4 * 8 + 16 * 8 + 2 * 4 * 16);
  CHECK(given.precision == Precision::int8);
  const Work hidden = work("vllm::rocm_unquantized_gemm", "[[4, 8], [16, 8], []]", R"(["float", "float", ""])");
  CHECK(hidden.flops == 2 * 4 * 8 * 16);
  CHECK_FALSE(hidden.bytes);
  CHECK(hidden.unknown == "type of the result not recorded");
}

TEST_CASE("two 4-bit values share a byte") {
  // A [4, 16] and B [32, 16] values as [4, 8] and [32, 8] bytes
  const Work fp4 = work("aiter::_gemm_a4w4_asm", "[[4, 8], [32, 8], [4, 1], [32, 1], [4, 32]]",
                        R"(["unsigned char", "unsigned char", "unsigned char", "unsigned char", "c10::BFloat16"])");
  CHECK(fp4.flops == 2 * 4 * 16 * 32);
  CHECK(fp4.bytes == 4 * 8 + 32 * 8 + 2 * 4 * 32);
  CHECK(fp4.precision == Precision::fp4);
  CHECK(parameter(fp4, "K") == "16");
}

TEST_CASE("a grouped product multiplies each row by its group's matrix") {
  // 10 rows of 8, 3 groups of 8 x 16
  const Work grouped =
      work("aten::_grouped_mm", "[[10, 8], [3, 8, 16], [3]]", R"(["c10::BFloat16", "c10::BFloat16", "int"])");
  CHECK(grouped.flops == 2 * 10 * 8 * 16);
  CHECK(grouped.bytes == 2 * (10 * 8 + 3 * 8 * 16 + 10 * 16));
  CHECK(parameter(grouped, "G") == "3");
}

const std::string kConvTypes =
    R"(["float", "float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"])";

TEST_CASE("a convolution is a dot product over the filter for each result") {
  // x [2, 4, 9, 9], w [6, 2, 3, 3], 2 groups, stride 2, padding 1: result 2 x 6 x 5 x 5
  const Work conv = work("aten::convolution", "[[2, 4, 9, 9], [6, 2, 3, 3], [6], [], [], [], [], [], []]", kConvTypes,
                         R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2"])");
  const int64_t results = 2 * 6 * 5 * 5;
  CHECK(conv.flops == 2 * (2 * 3 * 3) * results + results);
  CHECK(conv.bytes == 4 * (2 * 4 * 9 * 9 + 6 * 2 * 3 * 3 + results + 6));
  CHECK(parameter(conv, "convNd") == "conv2d");
  CHECK(parameter(conv, "groups") == "2");
}

TEST_CASE("dilation widens the filter, and one number stands for every dimension") {
  // 11 - (2 * (3 - 1) + 1) + 1 = 7 results per row and column
  const Work conv =
      work("aten::convolution", "[[1, 1, 11, 11], [1, 1, 3, 3], [], [], [], [], [], [], []]",
           R"(["float", "float", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"])",
           R"(["", "", "", "[1]", "[0]", "[2]", "False", "[0]", "1"])");
  CHECK(conv.flops == 2 * 9 * 7 * 7);
}

TEST_CASE("a transposed convolution scatters each input") {
  // x [1, 4, 5], w [4, 3, 2], stride 2, padding 0, output padding 1: (5 - 1) * 2 + 1 + 1 + 1 = 11 results, 3 channels
  const Work conv =
      work("aten::convolution", "[[1, 4, 5], [4, 3, 2], [], [], [], [], [], [], []]",
           R"(["float", "float", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"])",
           R"(["", "", "", "[2]", "[0]", "[1]", "True", "[1]", "1"])");
  CHECK(conv.flops == 2 * (3 * 2) * (4 * 5));
  CHECK(conv.bytes == 4 * (4 * 5 + 4 * 3 * 2 + 3 * 11));
}

TEST_CASE("cuDNN's and MIOpen's convolutions have arguments in other orders") {
  // padding 1, stride 2, dilation 1, 1 group on 8: (8 + 2 - 3) / 2 + 1 = 4
  const Work cudnn =
      work("aten::cudnn_convolution", "[[1, 1, 8], [1, 1, 3], [], [], [], [], [], [], []]",
           R"(["float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar", "Scalar"])",
           R"(["", "", "[1]", "[2]", "[1]", "1", "False", "False", "True"])");
  CHECK(cudnn.flops == 2 * 3 * 4);
  const Work miopen =
      work("aten::miopen_convolution", "[[1, 1, 8], [1, 1, 3], [1], [], [], [], [], [], []]",
           R"(["float", "float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar"])",
           R"(["", "", "", "[1]", "[2]", "[1]", "1", "False", "False"])");
  CHECK(miopen.flops == 2 * 3 * 4 + 4);
}

TEST_CASE("only the gradients that output_mask wants are counted") {
  // result [2, 6, 5, 5] as above: 5400 FLOPs per gradient
  const std::string dims = "[[2, 6, 5, 5], [2, 4, 9, 9], [6, 2, 3, 3], [], [], [], [], [], [], [], []]";
  const std::string types =
      R"(["float", "float", "float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar", "ScalarList"])";
  const auto backward = [&](const std::string& mask) {
    return work("aten::convolution_backward", dims, types,
                R"(["", "", "", "[6]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2", ")" + mask + R"("])");
  };
  const int64_t out = 2 * 6 * 5 * 5, in = 2 * 4 * 9 * 9, weight = 6 * 2 * 3 * 3, each = 2 * (2 * 3 * 3) * out;
  CHECK(backward("[True, True, False]").flops == 2 * each);
  CHECK(backward("[True, True, False]").bytes == 4 * 2 * (out + in + weight));
  CHECK(backward("[False, True, False]").flops == each);
  CHECK(backward("[False, True, False]").bytes == 4 * (out + in + weight));
  CHECK(backward("[True, True, True]").flops == 2 * each + out);
  CHECK(backward("[True, True, True]").bytes == 4 * (2 * (out + in + weight) + 6));
  CHECK(backward("[False, False, True]").bytes == 4 * (out + 6));
  CHECK(backward("").unknown == "which gradients are wanted is not recorded");
}

std::string flash_types(const std::string& element) {
  return "[\"" + element + "\", \"" + element + "\", \"" + element + R"(", "Scalar", "Scalar", "Scalar", "Scalar"])";
}

TEST_CASE("attention costs 2 (d_qk + d_v) per pair and head, a causal mask half of the pairs") {
  const std::string dims = "[[2, 3, 8, 16], [2, 3, 8, 16], [2, 3, 8, 32], [], [], [], []]";
  const auto flash = [&](const std::string& causal) {
    return work("aten::_scaled_dot_product_flash_attention", dims, flash_types("c10::Half"),
                R"(["", "", "", "0.", ")" + causal + R"(", "False", "0.25"])");
  };
  CHECK(flash("False").flops == 2 * 2 * 3 * 8 * 8 * (16 + 32));
  CHECK(flash("True").flops == 2 * 3 * 8 * 8 * (16 + 32));
  CHECK(flash("True").bytes == 2 * 2 * 3 * 8 * (16 + 16 + 32 + 32));
  CHECK(parameter(flash("True"), "causal") == "true");
  CHECK_FALSE(flash("").flops);
  CHECK(flash("").unknown == "mask not recorded");
  CHECK(flash("").bytes == flash("True").bytes);
}

TEST_CASE("attention takes its element size from its operands") {
  const Work flash =
      work("aten::_scaled_dot_product_flash_attention", "[[1, 1, 8, 4], [1, 1, 8, 4], [1, 1, 8, 4], [], [], [], []]",
           flash_types("float"), R"(["", "", "", "0.", "False", "False", "1"])");
  CHECK(flash.bytes == 4 * 4 * 8 * 4);
}

TEST_CASE("keys of fewer heads than queries are read once") {
  const Work grouped =
      work("flash_attn::_flash_attn_forward", "[[1, 8, 4, 16], [1, 8, 2, 16], [1, 8, 2, 16], [], [], [], [], []]",
           R"(["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"])",
           R"(["", "", "", "0.", "0.25", "False", "-1", "-1"])");
  CHECK(grouped.flops == 2 * 4 * 8 * 8 * 32);
  CHECK(grouped.bytes == 2 * 8 * 16 * (4 + 2 + 2 + 4));
}

TEST_CASE("a causal mask between unequal lengths starts at the first key or ends at the last") {
  // 2 queries, 6 keys, one head, d 1 and 1: 4 FLOPs per pair
  const Work last =
      work("flash_attn::_flash_attn_forward", "[[1, 2, 1, 1], [1, 6, 1, 1], [1, 6, 1, 1], [], [], [], [], []]",
           R"(["float", "float", "float", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"])",
           R"(["", "", "", "0.", "1", "True", "-1", "-1"])");
  CHECK(last.flops == 4 * (2 * 6 - 2));  // 12 pairs less a triangle of 2 * 2 / 2
  const Work first =
      work("aten::_scaled_dot_product_flash_attention", "[[1, 1, 2, 1], [1, 1, 6, 1], [1, 1, 6, 1], [], [], [], []]",
           flash_types("float"), R"(["", "", "", "0.", "True", "False", "1"])");
  CHECK(first.flops == 4 * 2);  // the triangle alone
}

TEST_CASE("the backward of attention calculates the scores again") {
  const std::string types =
      R"(["float", "float", "float", "float", "float", "float", "", "", "Scalar", "Scalar", "Scalar", "Scalar", "", "", "Scalar"])";
  const Work backward = work("aten::_scaled_dot_product_flash_attention_backward",
                             "[[2, 3, 8, 32], [2, 3, 8, 16], [2, 3, 8, 16], [2, 3, 8, 32], [2, 3, 8, 32], [2, 3, 8], "
                             "[], [], [], [], [], [], [], [], []]",
                             types, R"(["", "", "", "", "", "", "", "", "8", "8", "0.", "False", "", "", "1"])");
  CHECK(backward.flops == 2 * 2 * 3 * 8 * 8 * (3 * 16 + 2 * 32));
  CHECK(backward.bytes == 4 * 2 * 3 * 8 * (16 + 16 + 32 + 32 + 16 + 16 + 32));
}

TEST_CASE("packed sequences are known where all must be as long as the longest, else only their bytes are") {
  const std::string types =
      R"(["c10::Half", "c10::Half", "c10::Half", "int", "int", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"])";
  const auto varlen = [&](const std::string& longest) {
    return work("flash_attn::_flash_attn_varlen_forward",
                "[[12, 2, 4], [12, 2, 4], [12, 2, 4], [4], [4], [], [], [], [], [], []]", types,
                R"(["", "", "", "", "", ")" + longest + R"(", ")" + longest + R"(", "0.", "1", "False", "-1"])");
  };
  CHECK(varlen("4").flops == 3 * 2 * 2 * 4 * 4 * (4 + 4));  // 3 sequences of 4
  CHECK_FALSE(varlen("6").flops);
  CHECK(varlen("6").unknown == "sequence lengths not recorded");
  CHECK(varlen("6").bytes == 2 * 4 * 12 * 2 * 4);
}

TEST_CASE("a sliding window is not priced as if it were none") {
  const Work window =
      work("flash_attn::_flash_attn_forward", "[[1, 8, 1, 4], [1, 8, 1, 4], [1, 8, 1, 4], [], [], [], [], []]",
           R"(["float", "float", "float", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"])",
           R"(["", "", "", "0.", "1", "True", "2", "0"])");
  CHECK_FALSE(window.flops);
  CHECK(window.unknown == "sliding window");
}

TEST_CASE("experts are priced by the tokens they get, and read as often as they are expected to be chosen") {
  // 1 token, 8 experts, 2 chosen, K 4, N 3, gated: up 2 * 4 * 6, down 2 * 3 * 4 each, sum 3 additions of 4
  const Work moe = work("vllm::inplace_fused_experts", "[[1, 4], [8, 6, 4], [8, 4, 3], [1, 2], [1, 2]]",
                        R"(["c10::Half", "c10::Half", "c10::Half", "float", "int"])");
  CHECK(moe.flops == 2 * (2 * 4 * 6 + 2 * 3 * 4) + 4 * 3);
  CHECK(moe.bytes == 2 * (2 * 4) + 2 * (2 * (6 * 4 + 4 * 3)));  // exactly 2 of 8
  CHECK(parameter(moe, "gated") == "true");
}

TEST_CASE("an autograd node takes the shapes of its forward call") {
  const efficiency::ArgumentTexts forward = {.dims = "[[4, 8], [8, 16]]", .types = R"(["float", "float"])"};
  const Work node = efficiency::work_of("MmBackward0", {}, &forward);
  CHECK(node.flops == 2 * 2 * 4 * 8 * 16);
  CHECK(node.bytes == 2 * 4 * (4 * 8 + 8 * 16 + 4 * 16));
  CHECK(efficiency::work_of("MmBackward0", {}).unknown == "shapes of the forward call not known");
  const efficiency::ArgumentTexts attention = {.dims = "[[1, 8, 1, 4], [1, 8, 1, 4], [1, 8, 1, 4], [], [], []]",
                                               .types = R"(["float", "float", "float", "Scalar", "Scalar", "Scalar"])",
                                               .strides = "",
                                               .values = R"(["", "", "", "0.", "1", "False"])"};
  CHECK(efficiency::work_of("FlashAttnFuncBackward", {}, &attention).flops == 2 * 8 * 8 * (3 * 4 + 2 * 4));
}

}  // namespace
}  // namespace skewscope::test
