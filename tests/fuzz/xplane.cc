// A profile of JAX, byte by byte. Reported, and its first device as `rank` does. The stages assert the invariants of
// their rooms.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "memory_folder.h"
#include "skewscope/correlate.h"
#include "skewscope/examine.h"
#include "skewscope/report.h"

using namespace skewscope;  // NOLINT
using test::require;

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFolder folder;
  const std::string path = folder.path() + "/host.xplane.pb";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  StageTimer timer;
  CorrelateOptions options;
  options.ingest.memory_limit_bytes = int64_t{1} << 28;
  const auto report = correlate({path}, options, timer);
  if (!report.ok()) {
    require(report.error().kind != ErrorKind::internal);
    return 0;
  }
  std::istringstream lines(terminal_summary(report.value(), "", false));
  for (std::string line; std::getline(lines, line);) {
    const auto starts = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
    require(starts <= 80);
  }
  return 0;
}
