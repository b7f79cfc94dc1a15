// Names of kernels and of work as a line of a terminal has room for them: what tells them apart comes first.
#pragma once

#include <string>
#include <string_view>

#include "skewscope/model/operator_tables.h"

namespace skewscope::report {

// "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<…, MulFunctor<float> >, …>(int, …)"
// -> "MulFunctor: vectorized_elementwise_kernel"; other names without return type, namespaces of ATen and arguments.
std::string kernel_label(std::string_view name);
// "aten::mm" with "B=1 M=8944 N=2816 K=1024 bias=false" -> "mm M=8944 N=2816 K=1024".
std::string work_label(const WorkRow& row);

}  // namespace skewscope::report
