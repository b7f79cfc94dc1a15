// What ranks sent each other in all-to-alls, and how unevenly: rows, tables, JSON, words.
#pragma once

#include <string>
#include <vector>

#include "rooms.h"
#include "src/report/fields/json_values.h"
#include "src/report/fields/table.h"

namespace skewscope::report {

std::vector<JobReport::AllToAll> all_to_all_rows(const Rooms& rooms);
// Per communicator; per rank of each; per pair of ranks of each.
std::vector<Table> all_to_all_tables(const JobReport& report);
Json all_to_all_json(const std::vector<JobReport::AllToAll>& rows);

// "receives 2.5 times the mean of its group's tokens" of a rank that receives far more than others; "" of others.
std::string receiving_words(const JobReport& report, int32_t rank);
// Of groups in which a rank receives far more than others.
void add_uneven_groups(const JobReport& report, Findings& out);

}  // namespace skewscope::report
