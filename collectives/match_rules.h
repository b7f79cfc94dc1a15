// What makes two calls of one communicator incompatible: parts of one collective must agree in all that its signature
// holds. Sizes count where every member must give the same (NCCL's usage rules): not for all_to_all, gather, scatter.
#pragma once

#include <cstdint>

#include "collectives/kind.h"

namespace skewscope {

// Equal for calls that may be parts of one collective. send and recv have one signature: they are partners.
// `root` < 0: not recorded (then it takes no part); counts < 0: absent.
uint64_t match_signature(CollectiveKind kind, DType type, int64_t in_elements, int64_t out_elements, int64_t root);

// True where members may state different sizes.
bool sizes_may_differ(CollectiveKind kind);

}  // namespace skewscope
