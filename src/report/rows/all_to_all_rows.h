// What ranks sent each other in all-to-alls, and how unevenly: rows and words.
#pragma once

#include <string>
#include <vector>

#include "rooms.h"

namespace skewscope::report {

std::vector<JobReport::AllToAll> all_to_all_rows(const Rooms& rooms);

// "receives 2.5 times the mean of its group's tokens" of a rank that receives far more than others; "" of others.
std::string receiving_words(const JobReport& report, int32_t rank);
// One finding for each group in which a rank receives far more than others.
void add_uneven_groups(const JobReport& report, Findings& out);

}  // namespace skewscope::report
