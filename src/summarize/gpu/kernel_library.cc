// Libraries name their kernels in their own ways: cuBLAS after the architecture that a kernel is for
// ("ampere_sgemm_128x64_tn"), others after themselves. The first rule that fits counts; a name that fits none says
// nothing.
#include "kernel_library.h"

#include <algorithm>
#include <array>

namespace skewscope::summarize {
namespace {

struct NameRule {
  std::string_view begins, contains, library;  // "": any
};
constexpr std::array kRules = {
    NameRule{"Memcpy", "", ""},
    NameRule{"Memset", "", ""},
    NameRule{"", "nccl", "NCCL"},
    NameRule{"", "rccl", "RCCL"},
    NameRule{"triton_", "", "Triton"},
    NameRule{"", "flash_fwd", "FlashAttention"},
    NameRule{"", "flash_bwd", "FlashAttention"},
    NameRule{"", "fmha_cutlass", "PyTorch"},
    NameRule{"", "cudnn", "cuDNN"},
    NameRule{"", "xmma_fprop", "cuDNN"},
    NameRule{"", "xmma_dgrad", "cuDNN"},
    NameRule{"", "xmma_wgrad", "cuDNN"},
    NameRule{"", "implicit_convolve", "cuDNN"},
    NameRule{"", "cublas", "cuBLAS"},
    NameRule{"nvjet_", "", "cuBLAS"},
    NameRule{"", "xmma_gemm", "cuBLAS"},
    NameRule{"maxwell_", "gemm", "cuBLAS"},
    NameRule{"pascal_", "gemm", "cuBLAS"},
    NameRule{"volta_", "gemm", "cuBLAS"},
    NameRule{"turing_", "gemm", "cuBLAS"},
    NameRule{"ampere_", "gemm", "cuBLAS"},
    NameRule{"hopper_", "gemm", "cuBLAS"},
    NameRule{"gemmSN_", "", "cuBLAS"},
    NameRule{"gemmk1_", "", "cuBLAS"},
    NameRule{"gemv2", "", "cuBLAS"},
    NameRule{"gemvNSP", "", "cuBLAS"},
    NameRule{"", "cutlass", "CUTLASS"},
    NameRule{"Cijk_", "", "hipBLAS"},
    NameRule{"", "miopen", "MIOpen"},
    NameRule{"", "MIOpen", "MIOpen"},
    NameRule{"", "ck::", "Composable Kernel"},
    NameRule{"", "at::native::", "PyTorch"},
    NameRule{"", "at_cuda_detail", "PyTorch"},
    NameRule{"", "at::cuda", "PyTorch"},
    NameRule{"", "c10d::", "PyTorch"},
    NameRule{"", "cub::", "CUB"},
    NameRule{"vllm::", "", "vLLM"},
};

}  // namespace

std::string_view kernel_library(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  const auto rule = std::find_if(kRules.begin(), kRules.end(), [&](const NameRule& one) {
    return name.starts_with(one.begins) && name.find(one.contains) != std::string_view::npos;
  });
  return rule == kRules.end() ? std::string_view() : rule->library;
}

}  // namespace skewscope::summarize
