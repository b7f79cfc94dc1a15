// Rows whose stamps lie far from all that the other rows of the file were doing.
#pragma once

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// Leaves them out, with a finding for each kind (time-out-of-range, launch-out-of-range, step-out-of-range). Launches
// are joined; true: rows were left out, and have to be joined again.
bool leave_out_rows_apart(FileContent& content);

}  // namespace skewscope::ingest
