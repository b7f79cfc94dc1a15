// Names as a line has room for them.
#include "src/report/words/kernel_label.h"

#include <catch2/catch.hpp>

using skewscope::report::kernel_label;

TEST_CASE("an elementwise kernel is known by what it calculates") {
  CHECK(kernel_label("void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
                     "at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 3> >(int, "
                     "at::native::binary_internal::MulFunctor<float>, at::detail::Array<char*, 3>)") ==
        "MulFunctor: vectorized_elementwise_kernel");
  CHECK(kernel_label("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, "
                     "float, float, float>, unsigned int, float, 4> >(at::native::ReduceOp<float>)") ==
        "MeanOps: reduce_kernel");
}

TEST_CASE("other kernels keep their names without return type and arguments") {
  CHECK(kernel_label("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, 512>(cudnnTensorStruct, float const*)") ==
        "cudnn::bn_fw_tr_1C11_kernel_NCHW<float, 512>");
  CHECK(kernel_label("ampere_sgemm_128x64_nn") == "ampere_sgemm_128x64_nn");
  CHECK(kernel_label("Memcpy DtoH (Device -> Pinned)") == "Memcpy DtoH (Device -> Pinned)");
  CHECK(kernel_label("std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
                     "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, int)") ==
        "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>");
  CHECK(kernel_label("") == "");
  CHECK(kernel_label("(") == "(");
  CHECK(kernel_label("void at::native::<<<((((") == "<<<((((");
}
