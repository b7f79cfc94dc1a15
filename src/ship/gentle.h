// The agent takes what training leaves.
#pragma once

namespace skewscope::ship {

// Lowest priority for processor and disk, of this thread and those it starts.
void become_gentle();

}  // namespace skewscope::ship
