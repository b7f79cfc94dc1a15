#include "skewscope/efficiency/categories.h"

#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

#include "embedded.h"
#include "lower_case.h"

namespace skewscope::efficiency {
namespace {

// Operator name -> category, of configs/operator_categories.json.
const std::unordered_map<std::string, std::string>& registry() {
  static const auto names = [] {
    std::unordered_map<std::string, std::string> built;
    const auto document = nlohmann::json::parse(embedded::operator_categories());
    for (const auto& [category, operators] : document.items()) {
      for (const auto& name : operators) built.emplace(name.get<std::string>(), category);
    }
    return built;
  }();
  return names;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// A kernel's name without template arguments and parameters, which name types and functors and would mislead: "void
// at::native::reduce_kernel<512, Max>(Op)" -> "void at::native::reduce_kernel". CUTLASS alone has kernels of one name
// whose template argument says what they do.
std::string bare_name(std::string_view kernel) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)";
  std::string bare;
  int depth = 0;
  for (size_t at = 0; at < kernel.size(); ++at) {
    if (kernel.substr(at, kUnnamed.size()) == kUnnamed) {
      at += kUnnamed.size() - 1;
    } else if (kernel[at] == '(' && depth == 0) {
      break;
    } else if (kernel[at] == '<' || kernel[at] == '>') {
      depth = std::max(0, depth + (kernel[at] == '<' ? 1 : -1));
    } else if (depth == 0) {
      bare += kernel[at];
    }
  }
  return has(bare, "cutlass") ? std::string(kernel) : bare;
}

struct KernelClass {
  std::string_view word, name;
};
// The more telling words first: a softmax inside an attention kernel is attention.
constexpr KernelClass kKernelClasses[] = {
    {"flash", "attention"}, {"fmha", "attention"},
    {"attn", "attention"},  {"attention", "attention"},
    {"gemm", "GEMM"},       {"nvjet", "GEMM"},
    {"cijk_", "GEMM"},      {"softmax", "softmax"},
    {"rotary", "other"},    {"elementwise", "elementwise"},
    {"reduce", "reduce"},   {"index", "index"},
    {"gather", "index"},    {"scatter", "index"},
    {"embedding", "index"}, {"copy", "copy"},
    {"memcpy", "copy"},
};

std::string_view class_of_kernel(std::string_view kernel, const KernelTable& kernels) {
  if (kernels.nature_of(kernel).communicates) return "communication";
  const std::string name = lower_case(bare_name(kernel));
  for (const KernelClass& known : kKernelClasses) {
    if (has(name, known.word)) return known.name;
  }
  return "other";
}

}  // namespace

std::string_view tracelens_category(std::string_view operator_name, std::string_view first_kernel) {
  if (const auto found = registry().find(std::string(operator_name)); found != registry().end()) return found->second;
  if (operator_name.substr(0, 6) == "triton") return "triton";
  if (has(operator_name, "record_param_comms")) return "record_param_comms";
  if (first_kernel.substr(0, 15) != "void at::native") return "other";
  if (has(first_kernel, "elementwise")) return "elementwise";
  if (has(first_kernel, "reduce")) return "reduce";
  if (has(first_kernel, "multi_tensor_apply")) return "multi_tensor_apply";
  return "other";
}

std::string_view category(std::string_view operator_name, std::string_view first_kernel, const KernelTable& kernels) {
  const std::string_view known = tracelens_category(operator_name, first_kernel);
  return known == "other" ? class_of_kernel(first_kernel, kernels) : known;
}

}  // namespace skewscope::efficiency
