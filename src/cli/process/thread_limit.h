// How many threads compute.
#pragma once

namespace skewscope::cli {

// At most `count` (>= 1), to the end of the process; once per process. Never given back: TBB would at once start the
// threads that are allowed then, at an end that may have no memory for them and that takes down what they use.
void limit_threads(int count);

}  // namespace skewscope::cli
