// When a host waited for its GPU, told from its launches. Times in microseconds.
#include "src/blame/line/host_line.h"

#include <catch2/catch.hpp>

using namespace skewscope;
using namespace skewscope::blame;

namespace {

constexpr auto kCompute = GpuWork::compute, kCopy = GpuWork::memcpy, kCall = GpuWork::communication;

struct Row {
  double launch, returned, end;
  GpuWork work;
};

struct Wait {
  double from, until, line;
  int32_t fork;
  friend bool operator==(const Wait& a, const Wait& b) {
    return a.from == b.from && a.until == b.until && a.line == b.line && a.fork == b.fork;
  }
};

// The fork of a call: its place among the calls.
struct Synchronizing {
  double start, returned;
};

std::vector<Wait> waits(const std::vector<Row>& rows, const std::vector<Synchronizing>& calls = {}) {
  const auto ns = [](double us) { return static_cast<int64_t>(us * 1000); };
  Column<SynchronizingCall> synchronizing;
  for (const auto& call : calls) synchronizing.push_back({LocalNs{ns(call.start)}, ns(call.returned - call.start)});
  std::vector<LaunchedRow> launched;
  std::vector<CallEnd> ends;
  for (const Row& row : rows) {
    launched.push_back({ns(row.launch), ns(row.returned), ns(row.end), row.work});
    if (row.work == kCall) ends.push_back({ns(row.end), static_cast<int32_t>(ends.size())});
  }
  std::vector<Wait> out;
  for (const HostWait& wait : host_waits(launched, synchronizing, ends, {})) {
    out.push_back({static_cast<double>(wait.from_ns) / 1000, static_cast<double>(wait.until_ns) / 1000,
                   static_cast<double>(wait.line_ns) / 1000, wait.fork});
  }
  return out;
}

}  // namespace

TEST_CASE("a host that launches steadily waits for nobody, though its GPU runs dry each time") {
  CHECK(waits({{0, 5, 9, kCompute}, {20, 25, 29, kCompute}, {40, 45, 49, kCall}, {80, 85, 89, kCompute}}).empty());
}

TEST_CASE("a host that launched a copy last waited for it, where the next launch came behind its end") {
  const Row next = {300, 305, 400, kCompute};
  CHECK(waits({{0, 5, 90, kCompute}, {10, 15, 95, kCopy}, next}) == std::vector<Wait>{{15, 95, 95, -1}});
  CHECK(waits({{0, 5, 90, kCompute}, {10, 15, 350, kCopy}, next}).empty());
  // A call that still runs is not waited for.
  CHECK(waits({{0, 5, 500, kCall}, {10, 15, 95, kCopy}, next}) == std::vector<Wait>{{10, 95, 95, -1}});
}

TEST_CASE("a pause of the host that stands out was waiting as long as the GPU had something to do") {
  // All had ended at 1000, the call last.
  CHECK(
      waits(
          {{0, 5, 500, kCompute}, {10, 15, 1000, kCall}, {1200, 1205, 1300, kCompute}, {1210, 1215, 1400, kCompute}}) ==
      std::vector<Wait>{{15, 1000, 500, 0}});
  // A call still runs: until the line had come to its end.
  CHECK(
      waits(
          {{0, 5, 500, kCompute}, {10, 15, 2000, kCall}, {1200, 1205, 1300, kCompute}, {1210, 1215, 1400, kCompute}}) ==
      std::vector<Wait>{{15, 500, 500, -1}});
  // The GPU was done before the last launch returned.
  CHECK(waits({{0, 5, 3, kCompute}, {1200, 1205, 1300, kCompute}, {1210, 1215, 1400, kCompute}}).empty());
}

TEST_CASE("a launch that returns late while the GPU is busy waited for room in the queue") {
  CHECK(waits({{0, 5, 5000, kCompute},
               {10, 900, 6000, kCompute},
               {910, 915, 7000, kCompute},
               {920, 925, 8000, kCompute}}) == std::vector<Wait>{{10, 900, 900, -1}});
}

TEST_CASE("a synchronizing call waited for what ended last before it returned, however short the pause") {
  const Row next = {120, 125, 130, kCompute};
  // A wait for the device: the call ended last.
  CHECK(waits({{0, 5, 80, kCompute}, {10, 15, 100, kCall}, next}, {{20, 110}}) == std::vector<Wait>{{20, 100, 80, 0}});
  // A wait for one stream: what runs on is not waited for.
  CHECK(waits({{0, 5, 80, kCompute}, {10, 15, 500, kCall}, next}, {{20, 90}}) == std::vector<Wait>{{20, 80, 80, -1}});
  CHECK(waits({{0, 5, 800, kCompute}, {10, 15, 100, kCall}, next}, {{20, 110}}) == std::vector<Wait>{{20, 100, 0, 0}});
  // All had ended when it was called.
  CHECK(waits({{0, 5, 15, kCompute}, next}, {{20, 110}}).empty());
}

TEST_CASE("where synchronizing calls are recorded, a long pause without one is the host's own") {
  const std::vector<Row> rows = {
      {0, 5, 500, kCompute}, {10, 15, 1000, kCompute}, {3000, 3005, 3100, kCompute}, {3200, 3205, 3300, kCompute}};
  CHECK(waits(rows) == std::vector<Wait>{{15, 1000, 1000, -1}});
  CHECK(waits(rows, {{3010, 3110}}) == std::vector<Wait>{{3010, 3100, 3100, -1}});
  // One behind all launches is the tracer's, and tells nothing of the program.
  CHECK(waits(rows, {{3210, 3310}}) == waits(rows));
}
