// In which order a rank of a pipeline runs its passes: Megatron's one forward, one backward in turn (1F1B), interleaved
// where each rank has several stages (Narayanan et al. 2021, "Efficient Large-Scale Language Model Training on GPU
// Clusters Using Megatron-LM"): stages 0..pp-1 of the model are the ranks' first chunks, the next pp their second.
#pragma once

#include <cstdint>
#include <vector>

namespace skewscope::simulate {

struct Pass {
  bool backward = false;
  int32_t chunk = 0, micro_batch = 0;
};

// With several virtual stages pp divides micro_batches.
std::vector<Pass> pass_order(int32_t pp, int32_t micro_batches, int32_t virtual_stages, int32_t rank);

}  // namespace skewscope::simulate
