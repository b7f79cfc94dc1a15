// What hiding an operation's transfers, or a faster link for them, would gain: rows, table, JSON, words.
#pragma once

#include <string>
#include <vector>

#include "rooms.h"
#include "src/report/fields/json_values.h"
#include "src/report/fields/table.h"

namespace skewscope::report {

std::vector<JobReport::WhatIf::Operation> operation_rows(const IslandBlame& blame, const GroupKinds& groups,
                                                         const std::vector<std::string>& modules);
Table what_if_operations_table(const JobReport& report);
Table what_if_operation_parts_table(const JobReport& report);
Json operations_json(const std::vector<JobReport::WhatIf::Operation>& rows);

// What a user would gain most by hiding, where that is more than evening out the ranks would gain; "" otherwise.
std::string hiding_words(const JobReport::WhatIf& what_if);

}  // namespace skewscope::report
