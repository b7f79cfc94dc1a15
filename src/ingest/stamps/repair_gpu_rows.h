// GPU rows whose times cannot be true, put right before anything is computed from them.
#pragma once

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// Sorts rows by (start, longest first), keeping file order among equals, and repairs, each with a finding:
//   negative-duration     set to 0
//   time-out-of-range     dropped: starts more than a day away from the median start
//   repeated-events       dropped: a row before them is alike in every respect
//   overlapping-duration  cut at the next start on its stream
//   waiting-kernels       begun where the one before on their stream ends (dependent_rows.h)
void repair_gpu_rows(FileContent& content);

}  // namespace skewscope::ingest
