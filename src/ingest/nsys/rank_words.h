// Which rank of its job each process of a file is, as far as the file tells.
#pragma once

#include "processes.h"
#include "session.h"

namespace skewscope::ingest {

// Sets FileContent::distributed of all processes: by the environment, that of the session only where it has one
// process; by what XLA calls its threads; by the largest communicator; else the place among the processes of the file.
void tell_ranks(const Session& session, ProcessTable& processes);

}  // namespace skewscope::ingest
