// GPU rows that a tracer wrote without their correlation, joined to their launches by the rows around them.
#pragma once

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// After join_launches(). Says how many were joined (joined-by-neighbours).
void join_by_neighbours(FileContent& content);

}  // namespace skewscope::ingest
