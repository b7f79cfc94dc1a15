// Which ranks messages join into a line or a circle, whether these are the stages of a pipeline, and in which order.
#pragma once

#include <cstdint>
#include <vector>

#include "messages.h"

namespace skewscope::blame {

constexpr double kMostMissing = 0.1;  // of what is counted: lost kernels, edges of the recording
constexpr int32_t kMostVirtualStages = 16;

struct Chain {
  std::vector<uint32_t> traces;  // by stage, the first in front
  int32_t virtual_stages = 0;    // per rank; of two ranks 1, not known yet
};

// Those whose numbers of messages are a pipeline's, with two ends that are the first stage's and the last one's.
// `events`: per trace. `lone`: per trace, messages whose other end is not there.
std::vector<Chain> pipeline_chains(const JobView& view, const std::vector<Message>& messages,
                                   const std::vector<std::vector<MessageEvent>>& events,
                                   const std::vector<int64_t>& lone);

}  // namespace skewscope::blame
