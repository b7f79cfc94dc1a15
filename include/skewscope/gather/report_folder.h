// A report's folder in the gatherer's spool holds more than the report: the process that makes it and the daemon that
// serves it agree on these names.
#pragma once

#include <string>

namespace skewscope {

inline constexpr const char* kCaptureReports = "captures";
// All ranks on one clock, for the Perfetto UI; what is in it, the first line a sentence.
inline constexpr const char *kAlignedTrace = "aligned.pftrace", *kAlignedTraceText = "aligned.txt";

// A capture's own report: "captures/c0001".
inline std::string report_of_capture(int capture) {
  const std::string number = std::to_string(capture);
  return std::string(kCaptureReports) + "/c" + std::string(number.size() < 4 ? 4 - number.size() : 0, '0') + number;
}

}  // namespace skewscope
