// Element types as PyTorch numbers them ("15" in Concrete Inputs) and as its Python module names them.
#pragma once

#include <cstdint>
#include <string_view>

#include "collectives/kind.h"

namespace skewscope::efficiency {

// c10::ScalarType, by its number; unknown for numbers that have no DType.
DType dtype_of_number(int64_t scalar_type);

// "bfloat16", "float8_e4m3fn": attribute of `torch`; "" where a number or recorded name has none.
std::string_view torch_name_of_number(int64_t scalar_type);
std::string_view torch_name_of_type(std::string_view recorded);  // of "c10::BFloat16", "long int"
std::string_view torch_name_of_dtype(DType type);                // "" of 8-bit floats, of which there are several

}  // namespace skewscope::efficiency
