// Which freedom do the clocks of one component deserve, and which kinds of groups may tie them?
//
// Judged by ends that took no part in the fit. Two folds: half of the operations and sizes of every group where that
// keeps all traces aligned, else every second instance; groups of fewer than six instances are always fitted and must
// tighten by 30 % to count. The loss is the log of the median distance of corrected ends from their row's middle, per
// class, relative to the model before. Up the ladder identity < offset < line < bent a step must bring the ends of some
// kind of groups (TP, DP, ...) closer by 5 %, beyond 2.5 deviations over its classes: the links between nodes decide,
// not the many classes inside them; or some one trace's ends come twice as close, by more than stamps. Nothing is
// corrected at all unless some kind gains 10 % on identity and recorded ends scatter by more than stamps and kernels
// explain (95th percentile above 2 us, the stamps' step and half the end scatter). A kind of group whose held-out ends
// get worse under the chosen model does not tie clocks: it is dropped and the choice made again (on a production job
// one biased reduce-scatter made the all-gathers' ends three times worse). Where nothing can be held out: an offset
// when the recorded stamps contradict causality, else identity. Cost: eight fits on at most 64 rows per group, which
// processes share among them. Source: METHOD.md, section 4.
#pragma once

#include "joint_fit.h"
#include "skewscope/base/exchange.h"

namespace skewscope::align {

struct ModelChoice {
  Freedom freedom = Freedom::identity;
  std::vector<bool> use;  // per row: its kind aligns clocks
  bool dropped = false;   // some kind was refused
  double alike = 1;       // so many ends tell what one would (clumping.h)
};

// `force`: the best correction even where nothing is gained.
ModelChoice choose_model(const Beacons& beacons, int64_t resolution_ns, bool force, Exchange& exchange);

}  // namespace skewscope::align
