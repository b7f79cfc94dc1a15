// What a document says of its making.
#pragma once

#include <string>

#include "skewscope/report.h"

namespace skewscope::cli {

ReportStamp stamp_of(const std::string& command_line);  // now

}  // namespace skewscope::cli
