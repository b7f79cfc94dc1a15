// What must be right in an agent's options before it starts.
#pragma once

#include <string>

#include "skewscope/base/result.h"
#include "skewscope/ship.h"

namespace skewscope::ship {

// How the gatherer is spoken to. Errors: usage.
Result<Done> check_connection(const GathererConnection& options);

// Errors: usage, no_input (a path that is not there).
Result<Done> check_options(const ShipOptions& options);

// Where the ledger lives; "": nowhere, where none can be made, which is said. Errors: output, where digests need one.
Result<std::string> make_state_directory(const ShipOptions& options);

}  // namespace skewscope::ship
