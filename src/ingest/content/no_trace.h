// The content of files that are no traces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "defects.h"
#include "file_content.h"
#include "other_format.h"
#include "src/ingest/text/byte_source.h"

namespace skewscope::ingest {

// A file that could not be opened: not a trace, with a finding.
FileContent unreadable_content(const std::string& file, const std::string& reason);

// A file that no reader knows: empty, or not a trace.
FileContent unrecognised_content(const std::string& file, std::string_view head, const ByteSource& source);

// From here on the file is not a trace, with a finding that names what it is and what to do.
void set_other_format(const OtherFormat& format, FileContent& content);

}  // namespace skewscope::ingest
