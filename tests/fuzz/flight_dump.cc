// A flight recorder dump that somebody hands over: pickle, JSON or gzip. Nothing but plain values comes of a pickle;
// what is read has its numbers in bounds, and the report of two ranks that left it can be written.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "require.h"
#include "skewscope/hang.h"

using namespace skewscope;  // NOLINT
using test::require;

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto dump = read_flight_dump(bytes, "dump_0");
  if (!dump.ok()) {
    require(dump.error().kind == ErrorKind::no_input && dump.error().message.starts_with("dump_0: "));
    return 0;
  }
  for (const DumpedCall& call : dump.value().calls) {
    require(call.group >= 0 && call.group < std::ssize(dump.value().groups));
    require(call.frames.size() <= kMostFrames);
  }
  if (dump.value().rank > 4096) return 0;  // a large world takes its time
  for (const DumpedGroup& group : dump.value().groups) {
    for (const int32_t rank : group.ranks) {
      if (rank > 4096) return 0;
    }
  }
  FlightDump first = std::move(dump.value()), second = first;
  first.rank = 0;
  second.rank = 1;
  const HangReport report = find_hang({first, second});
  require(report.dumps == 2);
  const auto json = nlohmann::json::parse(hang_json(report, {"fuzz", "0", "2026-01-01T00:00:00Z"}));
  require(json.at("culprits").size() == report.culprits.size());
  const std::string summary = hang_summary(report, 80, false);
  require(std::count(summary.begin(), summary.end(), '\n') <= 15, summary);
  return 0;
}
