// Packets, sequences and clocks, whole and damaged.
#include <catch2/catch.hpp>

#include "made_trace.h"
#include "src/ingest/pftrace/packet_clocks.h"
#include "src/ingest/pftrace/track_slices.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT
using namespace skewscope::test;    // NOLINT

namespace {

MadeSlice kernel_at(uint64_t at, uint64_t track = 20) {
  return {track, at, "gemm", 0, {{"stream", 7}, {"device", 0}}, "kernel"};
}

int64_t found(const FileContent& content, FindingCode code) {
  int64_t count = 0;
  for (const Finding& finding : content.findings) count += finding.code == code ? finding.count : 0;
  return count;
}

using Times = std::vector<std::pair<int64_t, int64_t>>;

// 'b' begins, 'e' ends a slice of one track.
struct EventOfTrack {
  char what = 'b';
  int64_t ns = 0;
};
Times paired(const std::vector<EventOfTrack>& events, int64_t strays = 0) {
  TrackSlices<int> slices;
  Times times;
  const auto keep = [&](int64_t start, int64_t end, int) { times.emplace_back(start, end); };
  for (const EventOfTrack& event : events) {
    if (event.what == 'b')
      slices.begin(event.ns, 0);
    else
      slices.end(event.ns, keep);
  }
  slices.finish(keep);
  CHECK(slices.strays() == strays);
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace

TEST_CASE("an end is of the innermost open slice, in time and not in the order of packets") {
  CHECK(paired({{'b', 0}, {'b', 2}, {'e', 5}, {'e', 9}}) == Times{{0, 9}, {2, 5}});
  CHECK(paired({{'b', 0}, {'e', 9}, {'b', 9}, {'e', 12}}) == Times{{0, 9}, {9, 12}});
  // Beginnings, then ends: in the order of rows, and of time where rows touch.
  CHECK(paired({{'b', 0}, {'b', 10}, {'e', 10}, {'e', 20}}) == Times{{0, 10}, {10, 20}});
  CHECK(paired({{'b', 0}, {'b', 2}, {'b', 6}, {'e', 9}, {'e', 5}, {'e', 7}}) == Times{{0, 9}, {2, 5}, {6, 7}});
  CHECK(paired({{'b', 5}, {'b', 0}, {'e', 7}, {'e', 9}}) == Times{{0, 9}, {5, 7}});
  // An end without a beginning, a beginning without an end.
  CHECK(paired({{'e', 3}, {'b', 5}, {'e', 7}}, 1) == Times{{5, 7}});
  CHECK(paired({{'b', 0}, {'b', 5}, {'e', 7}}, 1) == Times{{5, 7}});
  CHECK(paired({{'b', 0}, {'b', 0}, {'e', 0}, {'e', 0}}) == Times{{0, 0}, {0, 0}});
}

TEST_CASE("stamps are wall time where a snapshot relates their clock to it, whatever clock a packet names") {
  MadeTrace trace;
  trace.snapshot({{1, 1'780'000'000'000'000'000}, {3, 500}, {6, 5'000}, {70, 100, false, 1000}, {64, 0, true}});
  trace.slice(kernel_at(5'100), 5'200);  // clock 6
  trace.clock = 3;
  trace.slice(kernel_at(700), 900);
  trace.clock = 70;  // microseconds
  trace.slice(kernel_at(101), 103);
  trace.clock = 64;
  trace.slice(kernel_at(40), 2);
  trace.slice(kernel_at(8), 1);
  trace.clock = 71;  // nobody said what it is
  trace.slice(kernel_at(8), 10);
  const FileContent content = std::move(read_pftrace(trace.text()).front());
  CHECK(content.has_base_time);
  REQUIRE(content.gpu.size() == 5);
  const int64_t zero = 1'780'000'000'000'000'000;
  const Times expected = {{100, 100}, {200, 200}, {1000, 2000}, {40, 2}, {50, 1}};
  for (size_t i = 0; i < 5; ++i) {
    CHECK(content.gpu[i].start.ns - zero == expected[i].first);
    CHECK(content.gpu[i].duration_ns == expected[i].second);
  }
  CHECK(found(content, "dropped-event") == 2);
}

TEST_CASE("clocks at the ends of their range give no time, and nothing overflows") {
  PacketClocks clocks;
  std::string message;
  const auto reading = [&](uint32_t id, uint64_t at, uint64_t unit, bool incremental) {
    protozero::pbf_writer writer(message);
    protozero::pbf_writer clock(writer, 1);
    clock.add_uint32(1, id);
    clock.add_uint64(2, at);
    clock.add_bool(3, incremental);
    clock.add_uint64(4, unit);
  };
  reading(1, UINT64_MAX, UINT64_MAX, false);
  reading(6, 3'000'000'000'000'000'000, 1, false);
  reading(64, 3'000'000'000'000'000'000, 1, true);
  reading(65, 0, 1'000'000'000, false);
  clocks.add_snapshot(message, 1);
  CHECK_FALSE(clocks.at(1, 6, UINT64_MAX));
  CHECK(clocks.at(1, 6, 7) == 7);
  CHECK(clocks.at(1, 64, 5) == 3'000'000'000'000'000'005);
  CHECK_FALSE(clocks.at(1, 64, 3'000'000'000'000'000'000));
  CHECK_FALSE(clocks.at(1, 65, 3'000'000'000'000'000'000));
  CHECK_FALSE(clocks.at(2, 65, 0));  // of another sequence
}

TEST_CASE("names belong to their sequence and to its state, and packets behind a loss wait for state anew") {
  MadeTrace trace;
  const auto named = [](uint64_t at) {
    MadeSlice slice = kernel_at(at);
    slice.name.clear();
    slice.name_id = 1;
    return slice;
  };
  trace.intern({{2, {"first"}}});
  trace.flags = 2;
  trace.slice(named(100), 200);
  trace.sequence = 2;
  trace.flags = 0;
  trace.intern({{2, {"second"}}});
  trace.flags = 2;
  trace.slice(named(300), 400);
  trace.flags = 0;
  trace.packet([](protozero::pbf_writer& writer) { writer.add_uint32(42, 1); });
  trace.flags = 2;
  trace.slice(named(500), 600);  // whose name was lost, maybe
  trace.flags = 0;
  trace.intern({{2, {"third"}}});
  trace.flags = 2;
  trace.slice(named(700), 800);
  const FileContent content = std::move(read_pftrace(trace.text()).front());
  REQUIRE(content.gpu.size() == 3);
  CHECK(content.strings.view(content.gpu[0].name) == "first");
  CHECK(content.strings.view(content.gpu[1].name) == "second");
  CHECK(content.strings.view(content.gpu[2].name) == "third");
  CHECK(found(content, "dropped-event") == 2);
}

TEST_CASE("a trace that is cut keeps its whole packets, and what no packet ends is counted") {
  MadeTrace trace;
  trace.slice(kernel_at(100), 200).begin(kernel_at(300));
  const std::string text = trace.text();
  const FileContent open = std::move(read_pftrace(text).front());
  CHECK(open.gpu.size() == 1);
  CHECK(found(open, "open-event") == 1);
  const FileContent cut = std::move(read_pftrace(text.substr(0, text.size() - 3)).front());
  CHECK(cut.gpu.size() == 1);
  CHECK(found(cut, "truncated-file") == 1);
}

TEST_CASE("packets that are no protobuf, of other types, or beyond all time are counted, and others are read") {
  MadeTrace trace;
  trace.slice(kernel_at(100), 200);
  trace.raw_packet("\x5a\x7f");  // a track event longer than its packet
  trace.raw_packet("\x5a\x03\x49\x01\x02");
  trace.packet([](protozero::pbf_writer& writer) { writer.add_string(8, "noon"); });
  trace.packet([](protozero::pbf_writer& writer) { writer.add_uint64(11, 5); });
  trace.slice(kernel_at(UINT64_MAX - 1), UINT64_MAX);
  trace.slice({21,
               900,
               "gemm",
               0,
               {{"stream", "x"}, {"device", std::vector<int64_t>{1}}, {"correlation", INT64_MIN}},
               "kernel"},
              800);
  const FileContent content = std::move(read_pftrace(trace.text()).front());
  REQUIRE(content.gpu.size() == 2);
  CHECK(content.gpu[1].duration_ns == 0);
  CHECK(content.gpu[1].stream == -1);
  CHECK(found(content, "dropped-event") == 6);
  CHECK(found(content, "negative-duration") == 1);
}

TEST_CASE("numbers of names and tracks as large as they get take no more room than their packets") {
  MadeTrace trace;
  trace.intern({{2, {"gemm"}}}, true, UINT64_MAX);
  trace.intern({{2, {"other"}}}, false, UINT64_MAX / 2);
  MadeSlice slice = kernel_at(100, UINT64_MAX);
  slice.name.clear();
  slice.name_id = UINT64_MAX;
  trace.slice(slice, 200);
  const auto contents = try_reading_pftrace(trace.text(), 4 << 20);
  REQUIRE(contents.ok());
  CHECK(contents.value()[0].strings.view(contents.value()[0].gpu[0].name) == "gemm");
}

TEST_CASE("rows of a trace that do not fit the memory limit end in its error") {
  MadeTrace trace;
  for (uint64_t i = 0; i < 40'000; ++i) trace.slice(kernel_at(100 * i), 100 * i + 50);
  const auto contents = try_reading_pftrace(trace.text(), 2 << 20);
  REQUIRE_FALSE(contents.ok());
  CHECK(contents.error().kind == ErrorKind::resource_limit);
}

TEST_CASE("packets that are compressed inside a trace are said to be left out") {
  MadeTrace trace;
  trace.slice(kernel_at(100), 200);
  trace.packet([](protozero::pbf_writer& writer) { writer.add_string(50, "zzzz"); });
  const FileContent content = std::move(read_pftrace(trace.text()).front());
  CHECK(content.gpu.size() == 1);
  CHECK(found(content, "skipped-bytes") == 1);
}

TEST_CASE("a trace of Perfetto without rows of a GPU is no rank, and says what it is") {
  MadeTrace trace;
  trace.process(1, 9, "surfaceflinger").slice({1, 10, "draw", 0, {}}, 20);
  const FileContent content = std::move(read_pftrace(trace.text()).front());
  CHECK(content.kind == ContentKind::not_a_trace);
  REQUIRE(content.findings.size() == 1);
  CHECK(content.findings[0].code == FindingCode("other-format"));
}
