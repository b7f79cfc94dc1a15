#include <catch2/catch.hpp>

#include "src/ingest/stamps/repair_gpu_rows.h"
#include "tests/cpu_time.h"
#include "tests/ingest/content_builder.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

// Kernels of 10 us every 20 us, on one stream.
ContentBuilder steady_stream(int64_t kernels) {
  ContentBuilder b;
  for (int64_t i = 0; i < kernels; ++i) b.kernel("k" + std::to_string(i), 20 * i, 10, 1000 + i);
  return b;
}

int64_t count(const FileContent& content, FindingCode code) {
  int64_t n = 0;
  for (const Finding& finding : content.findings) n += finding.code == code ? finding.count : 0;
  return n;
}

}  // namespace

TEST_CASE("a duration that runs over its successors and is absurd is cut at the next start") {
  ContentBuilder b = steady_stream(1000);
  b.content().gpu.events.duration_ns[10] = 3'600'000'000'000;  // an hour in a trace of 20 ms
  repair_gpu_rows(b.content());
  CHECK(b.content().gpu[10].duration_ns == 20'000);
  CHECK(count(b.content(), "overlapping-duration") == 1);
}

TEST_CASE("rows that stand in the file twice count once, whatever stands between them") {
  ContentBuilder b = steady_stream(3);
  b.kernel("other", 20, 10, 1001, 8);
  for (size_t i = 0; i < 4; ++i) b.content().gpu.append({b.content().gpu[i]});
  repair_gpu_rows(b.content());
  CHECK(b.content().gpu.size() == 4);
  CHECK(count(b.content(), "repeated-events") == 4);
}

TEST_CASE(
    "a hundred thousand launches whose rows begin and end at one moment are looked at in a second, not in minutes") {
  ContentBuilder b;
  for (int launch = 0; launch < 100'000; ++launch) b.kernel("k", 0, 10, launch, 7);
  b.content().gpu.append({b.content().gpu[5]});
  const double begin = test::cpu_seconds();
  repair_gpu_rows(b.content());
  CHECK(test::cpu_seconds() - begin < 3);  // 8 s when each is held beside all others
  CHECK(b.content().gpu.size() == 100'000);
  CHECK(count(b.content(), "repeated-events") == 1);
}

TEST_CASE("rows that differ in stream, name, launch or time, or have no time to tell by, are no repetition") {
  ContentBuilder b;
  b.content().resolution_ns = 1000;
  b.kernel("k", 20, 10, 1);
  b.kernel("k", 20, 10, 1, 8);
  b.kernel("k", 20, 10, 2);
  b.kernel("other", 20, 10, 1);
  b.kernel("k", 20, 11, 1);
  b.kernel("k", 30, 1, 1);  // two of half a microsecond in whole ones
  b.kernel("k", 30, 1, 1);
  b.kernel("orphan", 40, 10, -1);
  b.kernel("orphan", 40, 10, -1);
  repair_gpu_rows(b.content());
  CHECK(b.content().gpu.size() == 9);
  CHECK(b.content().findings.empty());
}

TEST_CASE("a duration over 100 times the median is cut even inside the window") {
  ContentBuilder b = steady_stream(1000);
  b.content().gpu.events.duration_ns[10] = 5'000'000;
  repair_gpu_rows(b.content());
  CHECK(b.content().gpu[10].duration_ns == 20'000);
}

TEST_CASE("a long kernel that nothing follows on its stream is believed") {
  ContentBuilder b = steady_stream(1000);
  b.kernel("waits", 0, 19'990, 1, 84);
  repair_gpu_rows(b.content());
  CHECK(count(b.content(), "overlapping-duration") == 0);
  CHECK(b.content().gpu[0].duration_ns == 19'990'000);
}

TEST_CASE("branches of one graph launch may overlap on one stream id") {
  ContentBuilder b;
  for (int64_t i = 0; i < 1000; ++i) b.kernel("k", 20 * i, 10, i < 10 || i >= 500 ? 1000 + i : 5);
  b.content().gpu.events.duration_ns[10] = 5'000'000;
  repair_gpu_rows(b.content());
  CHECK(count(b.content(), "overlapping-duration") == 0);
}

TEST_CASE("a long kernel whose successor starts near its end keeps its duration") {
  ContentBuilder b;
  for (int64_t i = 0; i < 20; ++i) b.kernel("k", 20 * i, 10, i);
  b.kernel("long", 1000, 5000, 50);
  b.kernel("next", 5990, 10, 51);  // begins early by programmatic dependent launch
  repair_gpu_rows(b.content());
  CHECK(count(b.content(), "overlapping-duration") == 0);
}

TEST_CASE("a long wait keeps its duration though the next row was launched into it, and ends behind it") {
  ContentBuilder b = steady_stream(20);
  b.kernel("allreduce_fusion_kernel_oneshot_lamport", 1000, 5000, 50);
  b.kernel("next", 1003, 5006, 51);  // programmatic dependent launch, triggered before the wait
  b.kernel("after", 6100, 10, 52);
  repair_gpu_rows(b.content());
  CHECK(count(b.content(), "overlapping-duration") == 0);
  CHECK(b.content().gpu[20].duration_ns == 5'000'000);
}

TEST_CASE("of two absurd durations in a row neither is believed because of the other") {
  ContentBuilder b = steady_stream(1000);
  b.content().gpu.events.duration_ns[10] = b.content().gpu.events.duration_ns[11] = 3'600'000'000'000;
  repair_gpu_rows(b.content());
  CHECK(b.content().gpu[10].duration_ns == 20'000);
  CHECK(b.content().gpu[11].duration_ns == 20'000);
}

TEST_CASE("a GPU row of negative duration counts as 0") {
  ContentBuilder b = steady_stream(3);
  b.content().gpu.events.duration_ns[1] = -5000;
  repair_gpu_rows(b.content());
  CHECK(b.content().gpu[1].duration_ns == 0);
  CHECK(count(b.content(), "negative-duration") == 1);
}

TEST_CASE("a kernel at time 0 does not stretch the window over years") {
  ContentBuilder b = steady_stream(3);
  b.kernel("lost", 0, 0, 9).start = LocalNs{0};
  repair_gpu_rows(b.content());
  CHECK(b.content().gpu.size() == 3);
  CHECK(count(b.content(), "time-out-of-range") == 1);
}

TEST_CASE("many long rows at once are looked at in seconds, not in minutes, on one stream or each on its own") {
  constexpr int kRows = 200'000;
  const bool one_stream = GENERATE(false, true);
  ContentBuilder b;
  for (int i = 0; i < kRows; ++i) b.kernel("k", 0, 50'000, i, one_stream ? 7 : i);
  b.kernel("next", 20'000, 10, kRows, 7);
  const double begin = test::cpu_seconds();
  repair_gpu_rows(b.content());
  CHECK(test::cpu_seconds() - begin < 6);  // 9 s when each is held beside all others
  CHECK(b.content().gpu.size() == kRows + 1);
}
