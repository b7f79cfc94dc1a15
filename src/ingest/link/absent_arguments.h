// Arguments of collectives whose values a tracer left out, filled from what else the file says.
#pragma once

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

// Operation and type from the kernel, the name of the group from its members, what goes in from what comes out. Ranks
// of which one lacks an argument would else have no call in common. Nothing is done where no value was absent.
void fill_absent_arguments(FileContent& content);

}  // namespace skewscope::ingest
