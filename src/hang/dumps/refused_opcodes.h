#pragma once

#include <string>

namespace skewscope::hang {

// What an opcode that is not read would do.
std::string refused_opcode(unsigned char opcode);

}  // namespace skewscope::hang
