// Work over lists of tensors, whose element type only the kernel's name tells; calculated by hand.
#include <catch2/catch.hpp>

#include "recorded_call.h"

namespace skewscope::test {
namespace {

using efficiency::Precision;
using efficiency::Work;

Work list_work(const std::string& op, const std::string& dims, const std::string& types, const std::string& kernels) {
  return efficiency::work_of(op, {.dims = dims, .types = types, .kernels = kernels});
}

const std::string kLists = "[[[3, 4], [5]], [[3, 4], [5]], []]";  // 17 elements each
const std::string kTypes = R"(["TensorList", "TensorList", "Scalar"])";

TEST_CASE("a cat reads what it writes and calculates nothing; its kernel tells the size of an element") {
  const std::string types = R"(["TensorList", "Scalar"])";
  const auto cat = [&](const std::string& kernel) {
    return list_work("aten::cat", "[[[3, 4], [5, 4]], []]", types, kernel);
  };
  const Work halves =
      cat("void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::"
          "OpaqueType<2u>, unsigned int, 4, 64, 64>(…)");
  CHECK(halves.flops == 0);
  CHECK(halves.bytes == 2 * 2 * 32);
  CHECK(halves.precision == Precision::unknown);  // of two bytes, more is not told
  CHECK(halves.unknown == "");
  CHECK(cat("CatArrayBatchedCopy_aligned16_contig<at::native::(anonymous namespace)::OpaqueType<16u>, int>").bytes ==
        2 * 16 * 32);
  CHECK(cat("void at::native::(anonymous namespace)::CatArrayBatchedCopy<long, unsigned int, 2>").bytes == 2 * 8 * 32);
  const Work floats = cat("Memcpy HtoD\nvoid CatArrayBatchedCopy<float, unsigned int, 2, 128, 1>(float*)");
  CHECK(floats.bytes == 2 * 4 * 32);
  CHECK(floats.precision == Precision::fp32);
}

TEST_CASE("a cat of an unknown kernel has no bytes, and says why") {
  const std::string dims = "[[[3, 4]], []]", types = R"(["TensorList", "Scalar"])";
  for (const char* kernel : {"", "other", "CatArrayBatchedCopy", "CatArrayBatchedCopy<", "CatArrayBatchedCopy<Strange,",
                             "CatArrayBatchedCopy<OpaqueType<u>", "CatArrayBatchedCopy<OpaqueType<0u>"}) {
    INFO(kernel);
    const Work work = list_work("aten::cat", dims, types, kernel);
    CHECK_FALSE(work.bytes);
    CHECK(work.unknown == "types in lists not recorded");
  }
  CHECK(list_work("aten::cat", "[[], []]", types, "CatArrayBatchedCopy<float,").unknown ==
        "shapes in lists not recorded");
}

TEST_CASE("an operator on each of a list reads its lists and writes one, a FLOP per element") {
  const std::string add =
      "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
      "TensorListMetadata<2>, at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<c10::BFloat16, 2, 2, 0>, "
      "std::plus<float>, float>(…)";
  const Work two = list_work("aten::_foreach_add_", kLists, kTypes, add);
  CHECK(two.flops == 17);
  CHECK(two.bytes == 2 * 3 * 17);
  CHECK(two.precision == Precision::bf16);
  const Work one = list_work("aten::_foreach_mul_", "[[[3, 4], [5]], []]", R"(["TensorList", "Scalar"])",
                             "multi_tensor_apply_kernel<TensorListMetadata<1>, BinaryOpScalarFunctor<float, 1, 1, 0>>");
  CHECK(one.bytes == 4 * 2 * 17);
  const Work zero = list_work("aten::_foreach_zero_", "[[[3, 4], [5]]]", R"(["TensorList"])", "ZeroFunctor<float, 1>");
  CHECK(zero.bytes == 4 * 17);
}

TEST_CASE("a fused optimiser reads parameters, gradients and state, and writes all but gradients") {
  const std::string one = "[[3, 4], [5]]",
                    types = R"(["TensorList", "TensorList", "TensorList", "TensorList", "TensorList"])";
  const std::string kernel =
      "multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor<float, 4, 0, false>>";
  const Work adam =
      list_work("aten::_fused_adam_", "[" + one + "," + one + "," + one + "," + one + ", []]", types, kernel);
  CHECK(adam.bytes == 4 * (4 + 3) * 17);
  CHECK(adam.flops == 3 * 17);
  const Work amsgrad =
      list_work("aten::_fused_adamw_", "[" + one + "," + one + "," + one + "," + one + "," + one + "]", types, kernel);
  CHECK(amsgrad.bytes == 4 * (5 + 4) * 17);
}

TEST_CASE("formulas over lists hold for calls that launch kernels themselves") {
  CHECK(efficiency::prices_own_launches_only("aten::cat"));
  CHECK(efficiency::prices_own_launches_only("aten::_foreach_add_"));
  CHECK_FALSE(efficiency::prices_own_launches_only("aten::mm"));
  CHECK_FALSE(efficiency::prices_own_launches_only("my::op"));
}

}  // namespace
}  // namespace skewscope::test
