// Work of the gradients of a call, from the arguments of the call itself: for autograd nodes, which record none.
#pragma once

#include "models.h"

namespace skewscope::efficiency {

Work mm_gradients(const Call& forward);
Work bmm_gradients(const Call& forward);
Work addmm_gradients(const Call& forward);
Work convolution_gradients(const Call& forward);
Work flash_attn_gradients(const Call& forward);
// The gradients of the node that call.name names: ScaledDotProduct{Flash,Efficient,Cudnn}AttentionBackward0.
Work dot_product_gradients(const Call& forward);

}  // namespace skewscope::efficiency
