// Work of vector units, calculated by hand; and what cannot be known.
#include <catch2/catch.hpp>

#include "recorded_call.h"

namespace skewscope::test {
namespace {

using efficiency::ComputeKind;
using efficiency::Precision;
using efficiency::Work;

TEST_CASE("operands are broadcast against each other, and the result has the higher type") {
  const Work add = work("aten::add", "[[3, 1, 5], [4, 1], []]", R"(["c10::Half", "float", "Scalar"])");
  CHECK(add.flops == 3 * 4 * 5);
  CHECK(add.bytes == 2 * 15 + 4 * 4 + 4 * 60);
  CHECK(add.compute == ComputeKind::vector);
  CHECK(add.precision == Precision::fp32);
  CHECK(work("aten::add", "[[3], [4], []]", R"(["float", "float", "Scalar"])").unknown == "shapes do not fit");
}

TEST_CASE("a number beside a tensor neither raises its type nor crosses memory") {
  const Work scaled = work("aten::mul", "[[10], []]", R"(["c10::Half", "Scalar"])");
  CHECK(scaled.bytes == 2 * 10 + 2 * 10);
  const Work wrapped = work("aten::mul", "[[10], []]", R"(["c10::Half", "double"])");
  CHECK(wrapped.bytes == 2 * 10 + 8 + 2 * 10);
  CHECK(wrapped.precision == Precision::fp16);
}

TEST_CASE("comparisons write booleans, divisions of integers floats, operators in place their own type") {
  CHECK(work("aten::eq", "[[10], [10]]", R"(["float", "float"])").bytes == 40 + 40 + 10);
  CHECK(work("aten::div", "[[10], [10]]", R"(["int", "int"])").bytes == 40 + 40 + 40);
  CHECK(work("aten::div", "[[10], [10]]", R"(["short int", "short int"])").bytes == 20 + 20 + 40);
  CHECK(work("aten::add_", "[[10], [10], []]", R"(["c10::Half", "float", "Scalar"])").bytes == 20 + 40 + 20);
}

TEST_CASE("a tensor given for the result decides its type") {
  CHECK(work("aten::mul", "[[10], [10], [10]]", R"(["float", "float", "c10::Half"])").bytes == 40 + 40 + 20);
}

TEST_CASE("a copy reads its source and only writes its destination; a fill reads nothing") {
  const Work copy = work("aten::copy_", "[[3, 4], [4], []]", R"(["float", "bool", "Scalar"])");
  CHECK(copy.flops == 12);
  CHECK(copy.bytes == 4 * 12 + 4);
  CHECK(work("aten::fill_", "[[3, 4], []]", R"(["float", "Scalar"])").bytes == 4 * 12);
}

TEST_CASE("a gate is two FLOPs per result") {
  const Work gate = work("_C::silu_and_mul", "[[5, 8], [5, 16]]", R"(["c10::BFloat16", "c10::BFloat16"])");
  CHECK(gate.flops == 2 * 40);
  CHECK(gate.bytes == 2 * (40 + 80));
}

TEST_CASE("upsampling and padding write their own size") {
  const Work up = work("aten::upsample_nearest2d", "[[1, 2, 3, 3], [], [], []]", R"(["float", "ScalarList", "", ""])",
                       R"(["", "[6, 6]", "", ""])");
  CHECK(up.flops == 2 * 6 * 6);
  CHECK(up.bytes == 4 * (2 * 3 * 3 + 2 * 6 * 6));
  const Work pad =
      work("aten::replication_pad2d", "[[1, 2, 3, 3], []]", R"(["float", "ScalarList"])", R"(["", "[1, 2, 0, 1]"])");
  CHECK(pad.flops == 2 * 4 * 6);
}

TEST_CASE("a reduction leaves what its dimensions leave") {
  const std::string types = R"(["float", "ScalarList", "Scalar", ""])";
  const auto mean = [&](const std::string& dimensions) {
    return work("aten::mean", "[[4, 5, 6], [], [], []]", types, R"(["", ")" + dimensions + R"(", "True", ""])");
  };
  CHECK(mean("[-1]").flops == 120);
  CHECK(mean("[-1]").bytes == 4 * (120 + 20));
  CHECK(mean("[0, 1]").bytes == 4 * (120 + 6));
  CHECK(mean("[]").bytes == 4 * (120 + 1));
  CHECK(mean("[3]").unknown == "shapes do not fit");
  CHECK(work("aten::sum", "[[10], []]", R"(["bool", ""])", R"(["", ""])").bytes == 10 + 8);  // sums of integers: int64
  CHECK(work("aten::sum", "[[10], []]", R"(["c10::Half", "Scalar"])", R"(["", "6"])").bytes == 20 + 4);
  CHECK(work("aten::max", "[[4, 5], [], []]", R"(["float", "Scalar", "Scalar"])", R"(["", "1", "False"])").bytes ==
        4 * 20 + 4 * (4 + 8));  // values and where they stand
  CHECK(work("aten::cumsum", "[[10], [], []]", R"(["float", "Scalar", ""])", R"(["", "0", ""])").bytes == 80);
}

TEST_CASE("a reduction whose dimensions were not recorded has FLOPs and no bytes") {
  const Work sum = work("aten::sum", "[[4, 5], [], [], []]", R"(["float", "", "Scalar", ""])");
  CHECK(sum.flops == 20);
  CHECK_FALSE(sum.bytes);
  CHECK(sum.unknown == "reduced dimensions not recorded");
  CHECK(work("aten::sum", "[[4, 5]]", R"(["float"])").bytes == 4 * 21);
}

const std::string kBatchNorm =
    R"(["c10::Half", "float", "float", "float", "float", "Scalar", "Scalar", "Scalar", "Scalar"])";

TEST_CASE("a batch norm calculates statistics in training only") {
  const std::string dims = "[[2, 3, 4, 4], [3], [3], [3], [3], [], [], [], []]";  // n 96, C 3
  const Work training =
      work("aten::batch_norm", dims, kBatchNorm, R"(["", "", "", "", "", "True", "0.1", "1e-05", "True"])");
  CHECK(training.flops == 5 * 96 + 6 * 3);
  CHECK(training.bytes == 2 * 2 * 96 + 4 * 3 * (2 + 2 * 2));
  const Work inference =
      work("aten::batch_norm", dims, kBatchNorm, R"(["", "", "", "", "", "False", "0.1", "1e-05", "True"])");
  CHECK(inference.flops == 2 * 96 + 6 * 3);
  CHECK(inference.bytes == 2 * 2 * 96 + 4 * 3 * (2 + 2));
}

TEST_CASE("an instance norm has statistics of each channel of each sample") {
  const Work norm = work("aten::instance_norm", "[[2, 3, 8], [], [], [], [], [], [], [], []]",
                         R"(["float", "", "", "", "", "Scalar", "Scalar", "Scalar", "Scalar"])",
                         R"(["", "", "", "", "", "True", "0.1", "1e-05", "True"])");
  CHECK(norm.flops == 5 * 48 + 6 * 6);
  CHECK(norm.bytes == 2 * 4 * 48);
}

TEST_CASE("a layer norm has statistics per row and writes them") {
  const Work layer =
      work("aten::native_layer_norm", "[[2, 5, 8], [], [8], [8], []]",
           R"(["c10::Half", "ScalarList", "c10::Half", "c10::Half", "Scalar"])", R"(["", "[8]", "", "", "1e-05"])");
  CHECK(layer.flops == 5 * 80 + 6 * 10);
  CHECK(layer.bytes == 2 * 2 * 80 + 2 * 2 * 8 + 2 * 4 * 10);
}

TEST_CASE("a layer norm without recorded values takes the rows of its weight") {
  const Work layer = work("aten::native_layer_norm", "[[5, 8], [], [8], [8], []]",
                          R"(["c10::Half", "ScalarList", "c10::Half", "c10::Half", "Scalar"])");
  CHECK(layer.flops == 5 * 40 + 6 * 5);
}

TEST_CASE("a group norm has statistics per sample and group") {
  const Work group =
      work("aten::group_norm", "[[2, 8, 3], [], [8], [8], [], []]",
           R"(["float", "Scalar", "float", "float", "Scalar", "Scalar"])", R"(["", "4", "", "", "1e-05", "True"])");
  CHECK(group.flops == 5 * 48 + 6 * 8);
}

TEST_CASE("an RMS norm costs 4 FLOPs per element and 2 per row, with its addition 5") {
  const Work plain =
      work("_C::rms_norm", "[[5, 8], [5, 8], [8], []]", R"(["c10::Half", "c10::Half", "c10::Half", "Scalar"])");
  CHECK(plain.flops == 4 * 40 + 2 * 5);
  CHECK(plain.bytes == 2 * (40 + 40 + 8));
  const Work added = work("_C::fused_add_rms_norm", "[[5, 8], [5, 8], [8], []]",
                          R"(["c10::Half", "c10::Half", "c10::Half", "Scalar"])");
  CHECK(added.flops == 5 * 40 + 2 * 5);
  CHECK(added.bytes == 2 * (4 * 40 + 8));
}

TEST_CASE("the gradients of a layer norm read what the forward kept") {
  const std::string types = R"(["float", "float", "ScalarList", "float", "float", "float", "float", "ScalarList"])";
  const std::string dims = "[[5, 8], [5, 8], [], [5, 1], [5, 1], [8], [8], []]";
  const Work all =
      work("aten::native_layer_norm_backward", dims, types, R"(["", "", "[8]", "", "", "", "", "[True, True, True]"])");
  CHECK(all.flops == 9 * 40);
  CHECK(all.bytes == 4 * (3 * 40 + 5 + 5 + 8 + 8 + 8));
  const Work input = work("aten::native_layer_norm_backward", dims, types,
                          R"(["", "", "[8]", "", "", "", "", "[True, False, False]"])");
  CHECK(input.bytes == 4 * (3 * 40 + 5 + 5 + 8));
}

TEST_CASE("a softmax is five FLOPs per element and may widen its result") {
  const Work half =
      work("aten::_softmax", "[[5, 8], [], []]", R"(["c10::Half", "Scalar", "Scalar"])", R"(["", "-1", "True"])");
  CHECK(half.flops == 5 * 40);
  CHECK(half.bytes == 2 * 40 + 4 * 40);
}

TEST_CASE("a rotary embedding turns the leading part of each head") {
  // 5 tokens, 3 heads of queries and 1 of keys of size 8, of which 4 turn; halves
  const Work rope = work("_C::rotary_embedding", "[[5], [5, 24], [5, 8], [], [100, 4], []]",
                         R"(["long int", "c10::Half", "c10::Half", "Scalar", "c10::Half", "Scalar"])",
                         R"(["", "", "", "8", "", "True"])");
  CHECK(rope.flops == 3 * (5 * 4 * 4));
  CHECK(rope.bytes == 2 * 2 * (5 * 4 * 4) + 8 * 5 + 2 * 5 * 4);
}

TEST_CASE("a causal convolution is one small filter per channel") {
  const Work conv =
      work("DaoAILab::_causal_conv1d_fwd_cpp", "[[2, 6, 10], [6, 4], [6]]", R"(["float", "float", "float"])");
  CHECK(conv.flops == 2 * 2 * 6 * 10 * 4);
  CHECK(conv.bytes == 4 * (2 * 120 + 24 + 6));
}

TEST_CASE("work that cannot be known says why") {
  CHECK(work("aten::mm", "", "").unknown == "shapes not recorded");
  CHECK(work("aten::mm", "[[4, 8", "[]").unknown == "recorded shapes cannot be read");
  CHECK(work("aten::mm", "[[4, 8], [9, 16]]", R"(["float", "float"])").unknown == "shapes do not fit");
  CHECK(work("aten::mm", "[[4, 8], [8, 16]]", R"(["c10::Strange", "float"])").unknown == "unknown type c10::Strange");
  CHECK(work("aten::mm", "[[4, 8], [8, 16]]", R"(["c10::Strange", "float"])").flops == 1024);
  CHECK(work("my::op", "[]", "[]").unknown == "no formula for this operator");
  CHECK_FALSE(efficiency::has_work_model("my::op"));
  CHECK(efficiency::has_work_model("aten::mm"));
  CHECK(efficiency::has_work_model("FlashAttnFuncBackward"));
}

TEST_CASE("sizes beyond 64 bits are not known") {
  const std::string huge = "9223372036854775807";
  const Work mm = work("aten::mm", "[[" + huge + ", 8], [8, " + huge + "]]", R"(["float", "float"])");
  CHECK_FALSE(mm.flops);
  CHECK_FALSE(mm.bytes);
  CHECK(mm.unknown == "sizes beyond 64 bits");
}

}  // namespace
}  // namespace skewscope::test
