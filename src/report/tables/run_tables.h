// Tables of what runs say together.
#pragma once

#include "src/report/fields/table.h"

namespace skewscope::report {

// They refer to `report`, which must outlive them.
std::vector<Table> tables_of(const ScaleReport& report);
std::vector<Table> tables_of(const CompareReport& report);

}  // namespace skewscope::report
