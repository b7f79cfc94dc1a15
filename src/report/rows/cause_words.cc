#include "cause_words.h"

#include <algorithm>
#include <iterator>

namespace skewscope::report {
namespace {

// The same kernels on the same grids take longer on a slow GPU, and where their grid does not tell the size of inputs.
constexpr CauseWords kCauseWords[] = {
    {LateCause::slower_kernels, "slower kernels", "slower kernels, likely", "its kernels take longer",
     "their kernels take longer",
     "Compare the clocks, power and temperature of {} GPU with another's; then compare input sizes that no grid "
     "shows."},
    {LateCause::other_kernels, "other kernels", "other kernels, likely", "it runs more or other kernels",
     "they run more or other kernels",
     "Compare {} computing with that of other ranks: batch, shapes, experts, recompiles."},
    {LateCause::other_shapes, "other shapes", "other shapes, likely", "its kernels work on other shapes",
     "their kernels work on other shapes", "Even out {} inputs: batch, sequence lengths, tokens of experts."},
    {LateCause::copies, "exposed copies", "exposed copies, likely", "its memory copies are exposed",
     "their memory copies are exposed", "Look at {} copies: pinned memory, prefetching, offloading."},
    {LateCause::transfer_elsewhere, "other group's transfer", "other group's transfer",
     "transfers of its other groups are exposed", "transfers of their other groups are exposed",
     "Check the links of {} other groups: bandwidth per size, overlap."},
    {LateCause::wait_elsewhere, "held up in other group", "held up in other group", "it waits in other groups",
     "they wait in other groups", "Look at {} other groups: whom they wait for there."},
    {LateCause::host, "late host", "late host, likely", "its host launches late", "their hosts launch late",
     "Look at {} host: input, Python, launches ahead of its collectives."},
    {LateCause::idle, "GPU idle, why unknown", "GPU idle, why unknown", "its GPU is idle", "their GPUs are idle",
     "Look at what {} GPU waits for ahead of its collectives."},
    {LateCause::program, "pipeline schedule", "pipeline schedule", "its part of the program takes longer",
     "their part of the program takes longer", "Balance the stages, or fill the pipeline with more micro-batches."},
};

}  // namespace

const CauseWords* wording_of(std::optional<LateCause> cause) {
  const auto* found = std::find_if(std::begin(kCauseWords), std::end(kCauseWords),
                                   [&](const CauseWords& words) { return cause == words.cause; });
  return found == std::end(kCauseWords) ? nullptr : found;
}

}  // namespace skewscope::report
