#include "src/ingest/link/stream_waits.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "skewscope/ingest.h"
#include "src/ingest/link/link_calls.h"
#include "tests/ingest/content_builder.h"
#include "tests/ingest/reader_support.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

// A wait of stream 7 at 100 us. Launched before: with id 10 at 50 us, 20 at 60 us.
StreamWait linked_wait(int32_t source, int64_t recorded_by, int64_t correlation = 30) {
  ContentBuilder b;
  for (const int64_t id : {10, 20}) {
    b.kernel("gemm", 200 + id, 5, id);
    b.launch(40 + id, id);
  }
  b.content().stream_waits.push_back({at_us(100), correlation, 7, source, recorded_by});
  const LinkedTrace linked = link_calls(std::move(b.content()));
  REQUIRE(linked.trace.stream_waits.size() == 1);
  CHECK(linked.trace.stream_waits[0].stream == 7);
  CHECK(linked.trace.stream_waits[0].start == at_us(100));
  return linked.trace.stream_waits[0];
}

}  // namespace

TEST_CASE("waits on streams are read as Kineto writes them, other synchronization is not") {
  const auto row = [](const char* name, const char* args) {
    return std::string(R"({"ph": "X", "cat": "cuda_sync", "name": ")") + name +
           R"(", "pid": 0, "tid": 7, "ts": 12.5, "dur": 1, "args": {)" + args + "}}";
  };
  const FileContent content = read_text(trace_of(
      row("Stream Wait Event",
          R"("cuda_sync_kind": "Stream Wait Event", "wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 3210,
          "wait_on_cuda_event_id": 298, "stream": 14, "correlation": 3216, "device": 0, "context": 1)") +
      "," +
      row("Stream Wait Event", R"("wait_on_stream": 4294967295, "wait_on_cuda_event_record_corr_id": -1, "stream": 7,
          "correlation": 3230)") +
      "," + row("Event Sync", R"("wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 3, "stream": -1,
          "correlation": 5)")));
  REQUIRE(content.stream_waits.size() == 2);
  CHECK(content.stream_waits[0].start.ns == 12'500);
  CHECK(content.stream_waits[0].correlation == 3216);
  CHECK(content.stream_waits[0].stream == 14);
  CHECK(content.stream_waits[0].source == 20);
  CHECK(content.stream_waits[0].recorded_by == 3210);
  CHECK(content.stream_waits[1].stream == 7);
  CHECK(content.stream_waits[1].source == -1);
  CHECK(content.stream_waits[1].recorded_by == -1);
}

TEST_CASE("an event stands behind the last launch whose id is smaller than its record's") {
  CHECK(linked_wait(20, 15).recorded == at_us(50));
  CHECK(linked_wait(20, 25).recorded == at_us(60));
  CHECK(linked_wait(20, 25).source == 20);
  CHECK(linked_wait(20, 5).recorded < at_us(50));
}

TEST_CASE("an event stands behind the last wait, too: by it other streams wait for what its own waits for") {
  ContentBuilder b;
  b.kernel("gemm", 200, 5, 10);
  b.launch(50, 10);
  b.content().stream_waits = {{at_us(70), 12, 7, 20, 11}, {at_us(80), 16, 8, 7, 14}};
  const LinkedTrace linked = link_calls(std::move(b.content()));
  REQUIRE(linked.trace.stream_waits.size() == 2);
  CHECK(linked.trace.stream_waits[0].recorded == at_us(50));
  CHECK(linked.trace.stream_waits[1].recorded == at_us(70));
}

TEST_CASE("a wait for an event whose record is not known may be for any stream") {
  for (const StreamWait& wait : {linked_wait(-1, -1), linked_wait(20, -1), linked_wait(-1, 15), linked_wait(20, 31)}) {
    CHECK(wait.source == -1);
    CHECK(wait.recorded == wait.start);
  }
}

TEST_CASE("recorded: CUDA 13 tells which stream waits and when, not for what") {
  StageTimer timer;
  const auto files = discover_files({std::string(SKEWSCOPE_SOURCE_DIR) + "/tests/data/real/sync_events"});
  REQUIRE(files.ok());
  const auto ingested = ingest_job(files.value(), {}, timer);
  REQUIRE(ingested.ok());
  REQUIRE(ingested.value().job.traces.size() == 2);
  for (const RankTrace& trace : ingested.value().job.traces) {
    CHECK(trace.stream_waits.size() == 174);
    for (const StreamWait& wait : trace.stream_waits) CHECK(wait.source == -1);
  }
}
