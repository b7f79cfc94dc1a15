#include "cause_words.h"

#include <algorithm>
#include <iterator>

namespace skewscope::report {
namespace {

// The same kernels on the same grids take longer on a slow GPU, and where their grid does not tell the size of inputs.
constexpr CauseWords kCauseWords[] = {
    {LateCause::slower_kernels, "its kernels take longer", "their kernels take longer",
     "Compare the clocks, power and temperature of {} GPU with another's, then inputs whose size no grid shows."},
    {LateCause::other_kernels, "it runs more or other kernels", "they run more or other kernels",
     "Compare {} computing with others': batch, shapes, experts, recompiles."},
    {LateCause::other_shapes, "its kernels work on other shapes", "their kernels work on other shapes",
     "Even out {} inputs: batch, sequence lengths, tokens of experts."},
    {LateCause::copies, "its memory copies are exposed", "their memory copies are exposed",
     "Look at {} copies: pinned memory, prefetching, offloading."},
    {LateCause::transfer_elsewhere, "transfers of its other groups are exposed",
     "transfers of their other groups are exposed", "Check the links of {} other groups: bandwidth per size, overlap."},
    {LateCause::wait_elsewhere, "it waits in other groups", "they wait in other groups",
     "Look at {} other groups: whom they wait for there."},
    {LateCause::host, "its host launches late", "their hosts launch late",
     "Look at {} host: input, Python, launches ahead of its collectives."},
    {LateCause::idle, "its GPU idles", "their GPUs idle", "Look at what {} GPU waits for ahead of its collectives."},
    {LateCause::program, "its part of the program takes longer", "their part of the program takes longer",
     "Balance the stages, or fill the pipeline with more micro-batches."},
};

}  // namespace

const CauseWords* wording_of(std::optional<LateCause> cause) {
  const auto* found = std::find_if(std::begin(kCauseWords), std::end(kCauseWords),
                                   [&](const CauseWords& words) { return cause == words.cause; });
  return found == std::end(kCauseWords) ? nullptr : found;
}

}  // namespace skewscope::report
