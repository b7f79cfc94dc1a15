// What ranks sent each other in all-to-alls, and whose wait it explains. See all_to_all.cc.
#pragma once

#include <vector>

#include "skewscope/model/decomposition.h"

namespace skewscope::attribute {

// By communicator; those that have all-to-alls. `d`: with the parts of all members. All processes get the same.
std::vector<AllToAllTotals> all_to_all_totals(const JobTrace& job, const InstanceTable& table, const Decomposition& d,
                                              Exchange& exchange);

}  // namespace skewscope::attribute
