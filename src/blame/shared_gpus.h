// Ranks that compute on one GPU: they may slow each other.
//
// Problem: what a rank saves is replayed with the lengths that its peers' kernels had. Where ranks share a GPU, kernels
// of one that computes too much made those of the others longer, and hardly ever does a recording show how long they
// were alone. Idea: kernels slow each other only while they run at once. As long as that is little next to the job, a
// shared GPU is as good as one for each; else what is saved is a bound. Cost: nothing where no GPU is shared; else one
// look at the rows and a sort.
#pragma once

#include "skewscope/base/exchange.h"
#include "src/blame/line/job_view.h"

namespace skewscope::blame {

// How long several ranks computed at once on one GPU, the one with most; sessions added up. Process 0 knows it. Two
// ranks share a GPU where host and device are the same, or where all hosts are unknown and all devices are of one
// number.
int64_t computing_at_once_ns(const JobView& view, Exchange& exchange);

}  // namespace skewscope::blame
