// Removal of a trace that the gatherer holds: of that very content, and of nothing that came under its name meanwhile.
#pragma once

#include <string>

#include "file_stamp.h"

namespace skewscope::ship {

enum class Removal {
  removed,
  not_there,  // the name is gone, or leads to other content
  written,    // somebody has it open for writing: what comes would be lost with its name
};

// `aside`: a name of ours, where the file is looked at once more before it goes; "" or on another file system: it goes
// from under its own name.
Removal remove_source(const std::string& path, const FileStamp& stamp, const std::string& aside);

}  // namespace skewscope::ship
