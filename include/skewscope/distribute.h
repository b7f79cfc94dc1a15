// The processes that were started together to correlate one job.
#pragma once

#include <memory>
#include <string>

#include "skewscope/base/exchange.h"

namespace skewscope {

// By MPI, in skewscope-mpi where mpirun or srun started it; else this process alone. Once per process.
// Whoever dies, or ends with an exception, takes the others along.
std::unique_ptr<Exchange> join_processes();

// Says that a launcher started several processes, in the program without MPI, which cannot join them: "srun started 4
// processes". Each would do the whole work. "": they are joined, or it is one.
std::string processes_apart();

}  // namespace skewscope
