// Stage: a job on one clock -> the part of it that --steps asks for. What lies outside has aligned the clocks and shown
// which calls are one collective; nothing behind this stage sees it.
#pragma once

#include "skewscope/base/exchange.h"
#include "skewscope/base/result.h"
#include "skewscope/model/clock_model.h"
#include "skewscope/model/collective_instance.h"
#include "skewscope/model/keep_steps.h"

namespace skewscope {

// In one process or several; the messages of batches are forgotten (forget_messages). Error: no_input where no trace
// has such a step.
Result<Done> select_steps(const StepNumbers& steps, JobTrace& job, InstanceTable& instances, ClockModel& clocks,
                          Exchange& exchange = alone());

}  // namespace skewscope
