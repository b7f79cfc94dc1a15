// What the agent would do, without doing it: --dry-run.
#pragma once

#include "skewscope/ship.h"

namespace skewscope::ship {

// Which files are whole by now, and as which rank each would be sent.
Shipped plan_of(const ShipOptions& options);

}  // namespace skewscope::ship
