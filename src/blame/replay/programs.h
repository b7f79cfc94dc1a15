// Which ranks run the same program, and which of their calls are at the same place of it.
//
// A rank's program is the set of what it does in collectives: operation, shape of the group, role (root, place
// of sender and receiver in their group). Two calls are at the same place when their ranks run the same program, the
// operation, group kind and role are equal, and so is the number of the collective within its group and step. Ranks
// whose clocks nobody compared run different programs, whatever they do: one is no measure for the other. Numbers are
// those of matched collectives, so a call that one rank lost moves nobody else's place.
#pragma once

#include "replay.h"

namespace skewscope::blame {

// Fills program, places and paces.place_of_row.
void find_places(ReplayPlan& plan);

}  // namespace skewscope::blame
