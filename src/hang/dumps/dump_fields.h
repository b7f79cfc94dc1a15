#pragma once

#include "skewscope/base/result.h"
#include "skewscope/model/flight_dump.h"
#include "src/hang/dumps/value.h"

namespace skewscope::hang {

// The recorder's fields, of format versions 1 to 2.10. What a version lacks is "not recorded". Errors: no_input, where
// the document is no dump. The rank is the document's `rank`, or -1.
Result<FlightDump> dump_of(const Document& document);

}  // namespace skewscope::hang
