// A number of a JSON document by its path:
//
//   PATH   = STEP { "." STEP }
//   STEP   = NAME { "[" SELECT "]" }
//   SELECT = "*"                             every row of the list
//          | INDEX                           one row, from 0
//          | KEY "=" VALUE { "," KEY "=" VALUE }   rows that are so; VALUE as the document shows it, without quotes
//
// efficiency.transfer, ranks[rank=3].idle_ns, collectives[op=all_reduce,bytes=4].wait_ns.p99, stragglers[0].saved_ns
#pragma once

#include <string>
#include <vector>

#include "skewscope/base/result.h"
#include "src/report/fields/json_values.h"

namespace skewscope::report {

struct NumbersAt {
  std::vector<double> numbers;  // in order; what is null (not determined) is none
  std::string no_row;           // the part of the path that selects no row, "ranks[rank=99]"; empty: all parts do
};

// What the path selects. Error usage: the path is not of this form, names what rows do not have, or leads to no number.
Result<NumbersAt> numbers_at(const Json& document, const std::string& path);

}  // namespace skewscope::report
