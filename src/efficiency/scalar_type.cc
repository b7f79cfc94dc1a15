#include "scalar_type.h"

#include <string>

namespace skewscope::efficiency {
namespace {

// Source: PyTorch's c10/core/ScalarType.h and torch/headeronly, AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS.
struct ScalarType {
  int64_t number;
  std::string_view recorded;  // as c10 spells it
  std::string_view torch;
};
constexpr ScalarType kScalarTypes[] = {
    {0, "Byte", "uint8"},
    {1, "Char", "int8"},
    {2, "Short", "int16"},
    {3, "Int", "int32"},
    {4, "Long", "int64"},
    {5, "Half", "float16"},
    {6, "Float", "float32"},
    {7, "Double", "float64"},
    {9, "ComplexFloat", "complex64"},
    {10, "ComplexDouble", "complex128"},
    {11, "Bool", "bool"},
    {15, "BFloat16", "bfloat16"},
    {23, "Float8_e5m2", "float8_e5m2"},
    {24, "Float8_e4m3fn", "float8_e4m3fn"},
    {25, "Float8_e5m2fnuz", "float8_e5m2fnuz"},
    {26, "Float8_e4m3fnuz", "float8_e4m3fnuz"},
    {27, "UInt16", "uint16"},
    {28, "UInt32", "uint32"},
    {29, "UInt64", "uint64"},
    {44, "Float8_e8m0fnu", "float8_e8m0fnu"},
    {45, "Float4_e2m1fn_x2", "float4_e2m1fn_x2"},
};

}  // namespace

DType dtype_of_number(int64_t scalar_type) {
  for (const ScalarType& known : kScalarTypes) {
    if (known.number == scalar_type) return dtype_from_name(known.recorded);
  }
  return DType::unknown;
}

std::string_view torch_name_of_number(int64_t scalar_type) {
  for (const ScalarType& known : kScalarTypes) {
    if (known.number == scalar_type) return known.torch;
  }
  return "";
}

std::string_view torch_name_of_type(std::string_view recorded) {
  const std::string_view bare = recorded.substr(0, 5) == "c10::" ? recorded.substr(5) : recorded;
  for (const ScalarType& known : kScalarTypes) {
    if (known.recorded == bare) return known.torch;
  }
  return torch_name_of_dtype(dtype_from_name(recorded));
}

std::string_view torch_name_of_dtype(DType type) {
  if (type == DType::unknown || type == DType::float8) return "";
  for (const ScalarType& known : kScalarTypes) {
    if (dtype_from_name(known.recorded) == type) return known.torch;
  }
  return "";
}

}  // namespace skewscope::efficiency
