// Which host has written a file: this one, where the file lies on a disk of its own.
#pragma once

#include <string>

namespace skewscope::ship {

// Whether a file system of this kind (statfs) belongs to one machine. Others may be mounted by many.
bool is_of_one_machine(long kind);

// This host's name; "" where the file lies on a disk that other machines may write to, or nothing tells.
std::string host_of_disk(int descriptor);

}  // namespace skewscope::ship
