#include "kernel_look.h"

#include <algorithm>
#include <cmath>

namespace skewscope::simulate {

const std::vector<KernelLook>& kernel_looks() {
  static const std::vector<KernelLook> looks = {
      {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>(int, float, "
       "c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)",
       "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, "
       "c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)",
       "aten::native_layer_norm", 40, 24, 2048, 128},
      {"nvjet_tst_256x128_64x4_1x2_h_bz_coopA_TNT",
       "Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1_ASEM1_CLR1",
       "aten::addmm", 168, 213248, 132, 384},
      {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
       "cutlass::bfloat16_t, Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >, false, true, false, false, "
       "false, true, false, false>(pytorch_flash::Flash_fwd_params)",
       "attn_fwd.kd", "aten::_flash_attention_forward", 255, 65536, 512, 128},
      {"void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, "
       "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)",
       "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, "
       "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)",
       "aten::add_", 32, 0, 8192, 128},
      {"void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
       "at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::"
       "{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)",
       "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
       "at::native::GeluType), std::array<char*, 2ul> >(int, std::array<char*, 2ul>)",
       "aten::gelu", 30, 0, 16384, 128},
      {"void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8, 2, "
       "4, 2, false, false, cutlass::bfloat16_t> >(pytorch_flash::Flash_bwd_params)",
       "attn_bwd.kd", "aten::_flash_attention_backward", 255, 147456, 512, 256},
      {"void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float, "
       "false>(c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16 const*, "
       "c10::BFloat16*, int)",
       "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel<c10::BFloat16, float>(c10::BFloat16 "
       "const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16 const*, c10::BFloat16*, int)",
       "aten::native_layer_norm_backward", 48, 128, 2048, 128},
      {"void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, float, float, 10, true, false>(float*, "
       "c10::BFloat16 const*, int, int, int, bool const*, int, bool)",
       "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, float, float, 10, true, false>(float*, "
       "c10::BFloat16 const*, int, int, int, bool const*, int, bool)",
       "aten::_log_softmax", 38, 0, 512, 128},
      {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
       "namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::LpNormFunctor<float, "
       "(at::native::NormType)1"
       ", float, 1, 1, 0>, float*, int>(at::native::(anonymous namespace)::TensorListMetadata<1>, float*, int)",
       "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
       "namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::LpNormFunctor<float>, float*, "
       "int>(float*, "
       "int)",
       "aten::_foreach_norm", 44, 128, 320, 512},
      {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
       "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
       "namespace)::FusedAdamMathFunctor<float, "
       "4, (at::native::ADAM_MODE)1, false>, float const*, float, double, double>(float const*, float, double, double)",
       "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
       "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
       "namespace)::FusedAdamMathFunctor<float, "
       "4>, float const*, float, double, double>(float const*, float, double, double)",
       "aten::_fused_adamw_", 60, 0, 320, 512},
  };
  return looks;
}

int32_t grid_of(const Op& op) {
  const double blocks = kernel_looks()[static_cast<size_t>(op.look)].grid * op.shape;
  return static_cast<int32_t>(std::clamp<int64_t>(std::llround(blocks), 1, INT32_MAX));
}

const char* copy_name(OpClass what) {
  if (what == OpClass::memset) return "Memset (Device)";
  return what == OpClass::memcpy_in ? "Memcpy HtoD (Pinned -> Device)" : "Memcpy DtoH (Device -> Pinned)";
}

const std::vector<LayerKernel>& forward_layer() {
  static const std::vector<LayerKernel> kernels = {{0, 0.03}, {1, 0.22}, {2, 0.25}, {1, 0.10}, {3, 0.03},
                                                   {0, 0.03}, {1, 0.16}, {4, 0.04}, {1, 0.14}};
  return kernels;
}

const std::vector<LayerKernel>& backward_layer() {
  static const std::vector<LayerKernel> kernels = {{3, 0.02}, {1, 0.10}, {1, 0.10}, {4, 0.03}, {1, 0.10}, {1, 0.10},
                                                   {6, 0.03}, {1, 0.06}, {5, 0.28}, {1, 0.08}, {1, 0.07}, {6, 0.03}};
  return kernels;
}

}  // namespace skewscope::simulate
