#include "pass_order.h"

#include <algorithm>

namespace skewscope::simulate {

std::vector<Pass> pass_order(int32_t pp, int32_t micro_batches, int32_t virtual_stages, int32_t rank) {
  const int32_t total = micro_batches * virtual_stages;
  const bool interleaved = virtual_stages > 1;
  // The k-th forward or backward pass: pp micro-batches through one chunk, then through the next.
  const auto pass = [&](bool backward, int32_t k) {
    if (!interleaved) return Pass{backward, 0, k};
    const int32_t round = pp * virtual_stages, chunk = k % round / pp;
    return Pass{backward, backward ? virtual_stages - 1 - chunk : chunk, k / round * pp + k % pp};
  };
  int32_t warm_up = pp - 1 - rank;
  if (interleaved) warm_up = micro_batches == pp ? total : 2 * warm_up + (virtual_stages - 1) * pp;
  warm_up = std::min(warm_up, total);
  std::vector<Pass> order;
  for (int32_t k = 0; k < warm_up; ++k) order.push_back(pass(false, k));
  for (int32_t k = 0; k < total; ++k) {
    if (k + warm_up < total) order.push_back(pass(false, k + warm_up));
    order.push_back(pass(true, k));
  }
  return order;
}

}  // namespace skewscope::simulate
