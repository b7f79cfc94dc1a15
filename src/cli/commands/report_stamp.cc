#include "report_stamp.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace skewscope::cli {

ReportStamp stamp_of(const std::string& command_line) {
  return {SKEWSCOPE_VERSION, command_line, fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))};
}

}  // namespace skewscope::cli
