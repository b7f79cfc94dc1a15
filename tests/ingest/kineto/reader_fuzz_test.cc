// Whatever the bytes are, reading returns.
#include <catch2/catch.hpp>
#include <random>

#include "tests/ingest/reader_support.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

std::string whole_trace() {
  std::string events = kernel("gemm", "1.5", "2");
  events +=
      ",\n" +
      kernel("ncclDevKernel_AllReduce_Sum", "3.25", "4",
             R"("Collective name": "allreduce", "Process Group Ranks": "[0, 1]", "correlation": 9, "grid": [1, 2])");
  events += R"(,
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 5, "tid": 6, "ts": 1, "dur": 1, "args": {"correlation": 9}},
  {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 5, "tid": 6, "ts": 1, "dur": 1, "args": {"Input Dims": [[2, 3], []], "Input type": ["float", ""]}},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 5, "tid": 6, "ts": 1, "dur": 90},
  {"name": "process_name", "ph": "M", "ts": 1, "pid": 5, "tid": 0, "args": {"name": "python"}})";
  return trace_of(
      events,
      R"("deviceProperties": [{"id": 0, "name": "A"}], "distributedInfo": {"rank": 0, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]}, )",
      R"(, "baseTimeNanoseconds": 17, "INFO": ["x", "y"])");
}

constexpr char kBytes[] = "\"\\{}[],:\n\0x\xff 0-.eE/u";

void damage(std::string& text, std::mt19937& random) {
  if (text.empty()) return;
  const size_t at = random() % text.size();
  const size_t length = 1 + random() % 40;
  const char byte = kBytes[random() % (sizeof kBytes - 1)];
  switch (random() % 6) {
    case 0:
      text[at] = static_cast<char>(text[at] ^ (1 << (random() % 8)));
      break;
    case 1:
      text[at] = byte;
      break;
    case 2:
      text.insert(at, 1, byte);
      break;
    case 3:
      text.erase(at, length);
      break;
    case 4:
      text.insert(at, text.substr(random() % text.size(), length));
      break;
    default:
      text.resize(at + 1);
      break;
  }
}

}  // namespace

TEST_CASE("reading returns for texts with bytes flipped, cut, doubled and inserted") {
  std::mt19937 random(20240601);
  const std::string whole = whole_trace();
  ReadSettings tiny;
  tiny.chunk_bytes = 300;
  tiny.largest_chunk_bytes = 2000;
  for (int round = 0; round < 600; round++) {
    std::string text = whole;
    for (auto n = 1 + random() % 6; n > 0; n--) damage(text, random);
    const FileContent content = round % 2 ? read_any(text) : read_text(text, tiny);
    REQUIRE(content.bytes <= static_cast<int64_t>(text.size()));
    REQUIRE(content.gpu.size() <= 4);
  }
}

TEST_CASE("reading returns for damaged compressed files") {
  std::mt19937 random(7);
  const std::string gzip = gzipped(whole_trace()), zstd = zstd_compressed(whole_trace());
  for (int round = 0; round < 300; round++) {
    std::string bytes = round % 2 ? gzip : zstd;
    for (auto n = 1 + random() % 3; n > 0; n--) damage(bytes, random);
    REQUIRE(read_any(bytes).events <= 100);
  }
}

TEST_CASE("reading returns for texts that are nothing but structure") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; round++) {
    std::string text = "{\"traceEvents\": [{\"ph\":";
    for (auto n = random() % 200; n > 0; n--) text += kBytes[random() % (sizeof kBytes - 1)];
    REQUIRE(read_any(text).events <= 200);
  }
  CHECK(read_any(std::string(100000, '[')).gpu.empty());
  CHECK(read_any("{\"traceEvents\": [" + std::string(100000, '{')).gpu.empty());
  CHECK(read_any("{\"traceEvents\": " + std::string(100000, '[')).gpu.empty());
  CHECK(read_any(std::string(100000, '\0')).kind != ContentKind::rank_trace);
}
