// How a compute kernel appears in a trace.
#pragma once

#include <cstdint>
#include <vector>

#include "program.h"

namespace skewscope::simulate {

struct KernelLook {
  const char* nvidia_name;
  const char* amd_name;
  const char* cpu_op;
  int32_t registers, shared_memory, grid, block;
};

const std::vector<KernelLook>& kernel_looks();

// Blocks that an operation's kernel is launched in: more for more rows.
int32_t grid_of(const Op& op);

// "Memset (Device)", … of copies and fills.
const char* copy_name(OpClass what);

// A layer in one direction: kernels in order with their share of the layer's time; shares sum to 1.
struct LayerKernel {
  int32_t look;
  double share;
};
const std::vector<LayerKernel>& forward_layer();
const std::vector<LayerKernel>& backward_layer();

// Rows of kernel_looks() outside the layers.
constexpr int32_t kLossLook = 7, kNormLook = 8, kAdamLook = 9;

}  // namespace skewscope::simulate
