#include "skewscope/efficiency/categories.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

#include "embedded.h"

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

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return result;
}

// By the kernel's name, the more telling words first: a softmax inside an attention kernel is attention, and PyTorch
// calls its copies and gathers elementwise kernels too.
std::string_view class_of_kernel(std::string_view kernel) {
  const std::string name = lower(kernel);
  for (const std::string_view word : {"flash", "fmha", "attn", "attention"}) {
    if (has(name, word)) return "attention";
  }
  for (const std::string_view word : {"gemm", "nvjet", "cijk_"}) {
    if (has(name, word)) return "GEMM";
  }
  if (has(name, "softmax")) return "softmax";
  if (has(name, "reduce")) return "reduce";
  for (const std::string_view word : {"index", "gather", "scatter", "embedding"}) {
    if (has(name, word)) return "index";
  }
  for (const std::string_view word : {"copy", "memcpy", "catarray"}) {
    if (has(name, word)) return "copy";
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

std::string_view category(std::string_view operator_name, std::string_view first_kernel) {
  const std::string_view known = tracelens_category(operator_name, first_kernel);
  return known == "other" ? class_of_kernel(first_kernel) : known;
}

}  // namespace skewscope::efficiency
