// What is compared of a run: figures per rank and step.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sample.h"
#include "skewscope/scale.h"

namespace skewscope::scale {

// What figures of the whole run are divided by for one step: the steps recorded, at least 1.
double steps_in(const JobReport& report);
// The same for figures of one rank: the steps that it recorded itself.
class OwnSteps {
 public:
  explicit OwnSteps(const JobReport& report);
  double of(int32_t rank) const;
  double mean() const;

 private:
  double otherwise_;  // where the report does not tell
  std::map<int32_t, double> by_rank_;
};

// What a communicator is for: its description, else its name, else its size. Communicators of several sizes of a job,
// and several of one size, have the same role.
std::string role_of(const JobReport::CommunicatorRow& communicator);
std::map<int32_t, const JobReport::CommunicatorRow*> communicators_by_id(const JobReport& report);

// Step, work and efficiency of one run; what needs a second run is left out.
ScaleReport::Run run_of(const NamedReport& run);

}  // namespace skewscope::scale
