// What nobody caught, as the program's last message and exit code.
#pragma once

#include <exception>

#include "exit_code.h"

namespace skewscope::cli {

// Want of memory or of threads is a resource limit, all else internal.
ExitCode explain(const std::exception& error);

// From now on std::terminate does the same of what the machine lacked: a worker of TBB that cannot start another has
// nobody above it to catch what it throws. All else aborts as before.
void explain_at_terminate();

}  // namespace skewscope::cli
