// A file that is whole or not there, whoever is killed meanwhile.
#pragma once

#include <string>
#include <string_view>

#include "skewscope/base/result.h"

namespace skewscope::ingest {

// Writes `bytes` to a file without a name, which then takes `path`; an existing file gives way only to `replace`, else
// it wins, also over a writer at the same time. Where the file system knows no nameless files, a hidden one is used.
// Errors: output, with the reason of the operating system.
Result<Done> write_whole_file(std::string_view bytes, const std::string& path, bool replace);

}  // namespace skewscope::ingest
