// The arguments of one operator call, from the texts that the profiler recorded (record_shapes=True).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/kind.h"

namespace skewscope::efficiency {

// JSON texts as in the trace; "" where not recorded.
struct ArgumentTexts {
  std::string_view dims = "";     // "Input Dims":      [[8944, 1024], [1024, 2816], []]
  std::string_view types = "";    // "Input type":      ["c10::BFloat16", "c10::BFloat16", "Scalar"]
  std::string_view strides = "";  // "Input Strides":   [[1024, 1], [1, 1024], []]
  std::string_view values = "";   // "Concrete Inputs": ["", "", "1"]
  // Names of the kernels that the call launched, one a line: they tell the element types of lists of tensors, which the
  // profiler does not record.
  std::string_view kernels = "";
};

struct Tensor {
  std::vector<int64_t> dims;     // empty: no dimensions, one element
  std::vector<int64_t> strides;  // in elements; empty where not recorded
  DType type = DType::unknown;

  bool operator==(const Tensor&) const = default;
};

// How an argument was recorded. Of a list of tensors the profiler writes shapes and strides, not always element types.
enum class ArgumentKind : uint8_t { none, tensor, tensor_list, value };

struct Argument {
  ArgumentKind kind = ArgumentKind::none;
  std::string type;   // as recorded: "c10::BFloat16", "Scalar", "ScalarList", "TensorList", "GenericList", "Device"
  std::string value;  // as recorded: "0.125", "True", "[1, 1]", "15"; "" for tensors and where not recorded
  std::vector<Tensor> tensors;  // one for a tensor, any number for a list of tensors

  const Tensor* tensor() const { return kind == ArgumentKind::tensor ? tensors.data() : nullptr; }
  std::optional<int64_t> integer() const;                // "1"
  std::optional<double> number() const;                  // "1", "1.0000000000000001e-05", "0."
  std::optional<bool> boolean() const;                   // "True", "False"
  std::optional<std::vector<int64_t>> integers() const;  // "[1, 1]", "[]"; booleans in a list as 1 and 0
};

// nullopt: shapes or types are not recorded, or the texts are damaged (no JSON, other lengths, sizes below zero or
// above int64). Strides and values may be missing.
std::optional<std::vector<Argument>> parse_arguments(const ArgumentTexts& texts);

}  // namespace skewscope::efficiency
