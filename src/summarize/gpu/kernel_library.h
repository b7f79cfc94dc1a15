// Which library a kernel is of, by its name.
#pragma once

#include <string_view>

namespace skewscope::summarize {

// "cuBLAS", "cuDNN", "PyTorch", …; "" where the name does not say it, and for copies and fills.
std::string_view kernel_library(std::string_view name);

}  // namespace skewscope::summarize
