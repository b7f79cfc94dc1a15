// Where an invariant does not hold.
#pragma once

#include <cstddef>
#include <string>

namespace skewscope {

inline std::string at_row(const char* what, size_t row) { return std::string(what) + " at row " + std::to_string(row); }

}  // namespace skewscope
