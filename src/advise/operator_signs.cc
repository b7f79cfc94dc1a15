// Signs that need the operators: which of them launched what, with which arguments, in compiled code or not.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "signs.h"
#include "skewscope/base/human_units.h"

namespace skewscope::advise {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

template <size_t kSize>
bool contains_any(std::string_view text, const std::array<std::string_view, kSize>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return contains(text, part); });
}

// GEMM kernels that read FP32: on CUDA cores, or on matrix units as TF32 (s1688 is its instruction's shape).
constexpr std::array<std::string_view, 6> kSinglePrecision = {"sgemm", "scudnn", "tf32",
                                                              "s1688", "f32f32", "nvjet_sss_"};
// Products whose template arguments tell their types: cuBLAS's small and matrix-vector ones.
constexpr std::array<std::string_view, 3> kTypedProducts = {"gemv", "gemmSN_", "gemmk1_"};
constexpr std::array<std::string_view, 6> kFusedAttention = {"flash",     "fmha",       "efficient_attention",
                                                             "attention", "AttnKernel", "attn_fwd"};
constexpr std::array<std::string_view, 3> kBatchedProducts = {"aten::bmm", "aten::baddbmm", "aten::matmul"};

// Tensile: Cijk_<indices of A>_<indices of B>_<types>_..., S for FP32. Types follow one another with (HHS) or without
// (B_BS: out and sums behind what is read) an underscore; all S behind the first say nothing of what is read.
bool tensile_reads_single(std::string_view kernel) {
  for (int field = 0; field < 3; ++field) {
    const size_t next = kernel.find('_');
    if (next == std::string_view::npos) return false;
    kernel.remove_prefix(next + 1);
  }
  const std::string_view types = kernel.substr(0, kernel.find('_'));
  return types == "S" || types == "SB" || types.starts_with("SS");
}

bool is_single_precision_gemm(std::string_view kernel) {
  if (kernel.starts_with("Cijk_")) return tensile_reads_single(kernel);
  if (kernel.starts_with("igemm_")) return contains(kernel, "_fp32");  // MIOpen's convolutions
  if (contains_any(kernel, kTypedProducts)) {
    const bool half = contains(kernel, "half") || contains(kernel, "bfloat16");
    return !half && (contains(kernel, "<float") || contains(kernel, "float, float, float"));
  }
  if (kernel.starts_with("turing_s1688")) return false;
  if (!contains_any(kernel, kSinglePrecision)) return false;
  // Half-precision inputs with FP32 sums are what is wished for; on Turing, which has no TF32, s1688 is their
  // instruction.
  return !contains(kernel, "f16") && !contains(kernel, "fp16");
}

// Units for half-precision matrices against FP32 on CUDA cores: no device of configs/devices.json has faster ones.
constexpr int64_t kMostFaster = 32;

// TF32 reads FP32 on matrix units: half precision is twice as fast there.
bool is_tf32(std::string_view kernel) { return contains(kernel, "tf32") || contains(kernel, "s1688"); }

}  // namespace

std::optional<Advice> copy_before_gemm(const View& view, const Rule& rule) {
  Advice advice;
  int64_t copies = 0, copied_ns = 0;
  for (const KernelRow& row : view.operators.kernels) {
    if (row.launcher != "aten::addmm" && row.launcher != "aten::baddbmm") continue;
    if (!contains(row.name, "Memcpy DtoD") && !contains(row.name, "CopyDeviceToDevice")) continue;
    copies += row.count;
    copied_ns += row.sum_ns;
    advice.evidence.push_back({fmt::format("{} in {}", row.name, row.launcher), row.count, row.sum_ns});
  }
  if (static_cast<double>(copies) < threshold(rule, "copies")) return {};
  advice.sign =
      fmt::format("addmm makes {} copies on the device before its GEMM, {}", copies, human_duration(copied_ns));
  advice.saves_at_most_ns = copied_ns;
  return advice;
}

std::optional<Advice> single_precision(const View& view, const Rule& rule) {
  if (!view.tables.half_precision_units) return {};
  Advice advice;
  int64_t total_ns = 0, saved_ns = 0;
  for (const KernelTotals& kernel : view.tables.kernels) {
    if (kernel.work != GpuWork::compute || !is_single_precision_gemm(kernel.name)) continue;
    total_ns += kernel.total_ns;
    saved_ns += kernel.total_ns - kernel.total_ns / (is_tf32(kernel.name) ? 2 : kMostFaster);
    advice.evidence.push_back({kernel.name, kernel.count, kernel.total_ns});
  }
  const double share = static_cast<double>(total_ns) / static_cast<double>(std::max<int64_t>(view.kernel_ns(), 1));
  if (share <= threshold(rule, "time_share")) return {};
  advice.sign = fmt::format("{} of kernel time ({}) is in {} matrix kernels for FP32 or TF32", human_percent(share),
                            human_duration(total_ns), advice.evidence.size());
  advice.saves_at_most_ns = saved_ns;
  return advice;
}

std::optional<Advice> unfused_attention(const View& view, const Rule& rule) {
  for (const KernelTotals& kernel : view.tables.kernels) {
    if (contains_any(kernel.name, kFusedAttention)) return {};
  }
  int64_t products_ns = 0, softmax_ns = 0;
  Advice advice;
  for (const OperatorRow& row : view.operators.operators) {
    const bool product =
        std::find(kBatchedProducts.begin(), kBatchedProducts.end(), row.name) != kBatchedProducts.end();
    const bool softmax = contains(row.name, "softmax") && !contains(row.name, "log_softmax");  // that is a loss
    if ((!product && !softmax) || row.direct_ns == 0) continue;
    (product ? products_ns : softmax_ns) += row.direct_ns;
    advice.evidence.push_back({row.name, row.launches, row.direct_ns});
  }
  const double softmax_share = static_cast<double>(softmax_ns) / static_cast<double>(std::max<int64_t>(products_ns, 1));
  if (products_ns == 0 || softmax_share < threshold(rule, "softmax_over_products")) return {};
  const double share =
      static_cast<double>(products_ns + softmax_ns) / static_cast<double>(std::max<int64_t>(view.kernel_ns(), 1));
  if (share <= threshold(rule, "time_share")) return {};
  advice.sign =
      fmt::format("batched products ({}) and softmax ({}) without a fused attention kernel, {} of kernel time",
                  human_duration(products_ns), human_duration(softmax_ns), human_percent(share));
  advice.saves_at_most_ns = products_ns + softmax_ns;
  return advice;
}

std::optional<Advice> graph_breaks(const View& view, const Rule& rule) {
  int64_t breaks = 0;
  Advice advice;
  for (const CompiledRegionRow& region : view.operators.regions) {
    if (region.nested == 0) continue;
    breaks += region.nested;
    std::string outer;
    for (const std::string& name : region.outer) outer += (outer.empty() ? "" : ", ") + name;
    advice.evidence.push_back({fmt::format("{} within {}", region.name, outer), region.nested, region.host_ns});
  }
  if (static_cast<double>(breaks) < threshold(rule, "breaks")) return {};
  advice.sign = fmt::format("compiled regions run inside compiled regions {} times, in {} places", breaks,
                            advice.evidence.size());
  return advice;
}

std::optional<Advice> recompilation(const View& view, const Rule& rule) {
  Advice advice;
  for (const CompiledRegionRow& region : view.operators.regions) {
    if (region.recompiled) advice.evidence.push_back({region.name, region.calls, region.host_ns});
  }
  if (static_cast<double>(advice.evidence.size()) < threshold(rule, "recompiled")) return {};
  advice.sign = fmt::format("{} region{} compiled again", advice.evidence.size(),
                            advice.evidence.size() == 1 ? " was" : "s were");
  return advice;
}

std::optional<Advice> compilation_measured(const View& view, const Rule& rule) {
  Advice advice;
  const int64_t total_ns = view.operators.compiling_ns;
  for (const CompileEventRow& row : view.operators.compile_events) {
    if (row.event != CompileEvent::compilation) continue;
    advice.evidence.push_back({row.name, row.count, row.host_ns});
  }
  if (static_cast<double>(total_ns) < threshold(rule, "time_ns")) return {};
  advice.sign = fmt::format("compilation takes {} of CPU time in the window", human_duration(total_ns));
  return advice;
}

}  // namespace skewscope::advise
