// What one operator call is worth: floating-point operations and bytes, from recorded shapes alone.
//
// Bytes assume that every operand crosses memory once. A multiply-add is two FLOPs. The formulas are in
// src/efficiency/README.md; sources: the operators' definitions, FlashAttention 2 (Dao 2023, section 3) for the
// recomputation in its backward, and TraceLens' performance models, whose known mistakes are not repeated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skewscope/efficiency/arguments.h"

namespace skewscope::efficiency {

// Which units do the work: matrix (Tensor Cores, Matrix Cores) or vector.
enum class ComputeKind : uint8_t { matrix, vector };
const char* to_string(ComputeKind kind);

// The type of the operands. fp32 on matrix units may run as TF32: a trace does not record which, so work is never tf32,
// but the peaks of a device are. int8: on matrix units; integers elsewhere are `integer`.
enum class Precision : uint8_t { unknown, fp64, fp32, tf32, fp16, bf16, fp8, fp4, int8, integer };
const char* to_string(Precision precision);  // "bf16", …, "unknown"

struct Parameter {
  std::string name;   // "M", "N", "K", "B", "bias", "input_shape", "causal", …
  std::string value;  // "8944", "true", "[10, 64, 56, 56]"

  bool operator==(const Parameter&) const = default;
};

struct Work {
  std::optional<int64_t> flops;
  std::optional<int64_t> bytes;
  ComputeKind compute = ComputeKind::vector;
  Precision precision = Precision::unknown;
  std::vector<Parameter> parameters;
  std::string unknown;  // why flops or bytes are missing, for people: "shapes not recorded"; "" when both are known
};

// Never fails: what cannot be known is missing and says why. `forward`: the arguments of the forward call that a
// backward node belongs to, for nodes whose own arguments do not tell the shapes (autograd nodes such as
// FlashAttnFuncBackward, MmBackward0); null where there is none.
Work work_of(std::string_view operator_name, const ArgumentTexts& texts, const ArgumentTexts* forward = nullptr);

// True when work_of has a formula for this operator: those that launch kernels themselves and those that TraceLens
// prices. Operators that only call others (aten::linear, aten::matmul, aten::relu) have none: what they call has.
// Autograd nodes priced from their forward call count too; all inputs are taken to want a gradient, which a trace does
// not tell, so where an operator below a node has a formula, price that one instead.
bool has_work_model(std::string_view operator_name);

// True where that formula holds only for calls that launch kernels themselves (aten::cat, aten::_foreach_add_,
// aten::gather): others hand their arguments to operators that have formulas of their own.
bool prices_own_launches_only(std::string_view operator_name);

}  // namespace skewscope::efficiency
