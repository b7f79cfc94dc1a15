// What the report says of a job's pipeline.
#pragma once

#include "rooms.h"

namespace skewscope::report {

JobReport::Pipeline pipeline_of(const Pipeline& found);

}  // namespace skewscope::report
