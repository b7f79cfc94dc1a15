// Steps of the job: their lengths, and what ranks and collectives did in them.
#pragma once

#include <vector>

#include "rooms.h"

namespace skewscope::report {

std::vector<JobReport::StepRow> step_rows(const Rooms& rooms);
std::vector<JobReport::RankStep> rank_steps(const Rooms& rooms);
std::vector<JobReport::CollectiveStep> collective_steps(const Rooms& rooms);

}  // namespace skewscope::report
