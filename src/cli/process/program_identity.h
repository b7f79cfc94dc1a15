// What distinguishes this build of the program from others.
#pragma once

#include <string>

namespace skewscope::cli {

// Hexadecimal build id that the linker wrote into the program; "" where it wrote none.
std::string build_id();

}  // namespace skewscope::cli
