// What kind of work an operator is, by the name of the operator that launched and the kernel it launched first.
//
// The rules are TraceLens' (0.1.0), first match wins: the exact name in configs/operator_categories.json (built into
// the library); "triton…" is triton, "…record_param_comms…" is record_param_comms; a first kernel whose name starts
// with "void at::native" is elementwise, reduce or multi_tensor_apply by what its name contains; else other.
#pragma once

#include <string_view>

#include "collectives/kernel_table.h"

namespace skewscope::efficiency {

// "GEMM", "CONV_fwd", "SDPA_bwd", "elementwise", …, "other". first_kernel: "" where nothing was launched. A registry
// entry of form parent->kernel is asked for with that whole text as operator_name. The view lives as long as the
// program.
std::string_view tracelens_category(std::string_view operator_name, std::string_view first_kernel);

// The same, and instead of "other" a class by the kernel's name where it tells one: "attention", "softmax", "GEMM",
// "reduce", "copy", "index", "elementwise", "communication".
std::string_view category(std::string_view operator_name, std::string_view first_kernel,
                          const KernelTable& kernels = KernelTable::built_in());

}  // namespace skewscope::efficiency
