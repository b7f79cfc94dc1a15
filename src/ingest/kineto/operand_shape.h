// "Input Dims" and "Input type" of an op, as raw JSON arrays: one entry per operand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace skewscope::ingest {

// "[[], [8, 4096]]" -> 32768, operand 1: the product of the first entry that is not empty; for a list of tensors the
// sum over them. -1: none, or beyond int64.
int64_t elements_of_first_operand(std::string_view dims, size_t& operand);
// The same of one operand.
int64_t elements_of_operand(std::string_view dims, size_t operand);
// The token at a position of "[\"\", \"float\"]"; empty where there is none.
std::string_view type_of_operand(std::string_view types, size_t operand);
// The first token that is not "".
std::string_view first_type(std::string_view types);

}  // namespace skewscope::ingest
