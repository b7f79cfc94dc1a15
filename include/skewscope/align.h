// Stage: InstanceTable -> ClockModel: one offset, drift and bend per trace, with uncertainties and proofs.
#pragma once

#include "skewscope/model/clock_model.h"
#include "skewscope/model/collective_instance.h"

namespace skewscope {

enum class AlignMode {
  automatic,    // fit, and apply only what helps
  collectives,  // fit and apply, even where little is gained
  wallclock,    // take the clocks as recorded, but treat them as one
  none,         // take the clocks as recorded and split nothing across traces of different hosts
};

// In one process or several; all get the same clocks.
ClockModel align_clocks(const JobTrace& job, const InstanceTable& instances, AlignMode mode,
                        Exchange& exchange = alone());

}  // namespace skewscope
