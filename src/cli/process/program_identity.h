// What distinguishes this build of the program from others.
#pragma once

#include <string>

namespace skewscope::cli {

// Hexadecimal build id that the linker wrote into the program; "" where it wrote none.
std::string build_id();

// The path starts this program again. A launcher of the relocatable tarball (src/launch) names itself in the
// environment, because /proc/self/exe is the loader then.
std::string own_program();

// Has ps and top call the process by the program's name, in place of the loader's.
void name_process();

}  // namespace skewscope::cli
