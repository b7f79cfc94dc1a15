#include <catch2/catch.hpp>

#include "skewscope/model/rank_trace.h"

using namespace skewscope;  // NOLINT

namespace {

RankTrace trace_with_launches() {
  RankTrace trace;
  trace.gpu.start = {{10}, {30}};
  trace.gpu.duration_ns = {5, 20};
  trace.gpu.work = {GpuWork::compute, GpuWork::compute};
  trace.gpu.name = {StringId(0), StringId(0)};
  trace.gpu.device = {0, 0};
  trace.gpu.stream = {7, 7};
  trace.gpu.launch = {0, 1};
  trace.launches.start = {{1}, {2}};
  trace.launches.duration_ns = {2, 2};
  trace.launches.thread = {1, 1};
  return trace;
}

}  // namespace

TEST_CASE("launches that are forgotten give their memory back, and that of what remains stays") {
  RankTrace trace = trace_with_launches();
  TracePacker().pack(trace);
  const std::weak_ptr<ColumnBlock> rows = trace.gpu.start.get_allocator().block();
  const std::weak_ptr<ColumnBlock> launches = trace.launches.start.get_allocator().block();
  CHECK(trace.gpu.name.get_allocator().block() == rows.lock());
  CHECK(trace.gpu.launch.get_allocator().block() == launches.lock());
  REQUIRE(rows.lock() != launches.lock());
  forget_launches(trace);
  CHECK(launches.expired());
  CHECK_FALSE(rows.expired());
  CHECK(trace.gpu.start == Column<LocalNs>{{10}, {30}});
}

TEST_CASE("threads that are forgotten give their memory back, and a trace without them is whole") {
  RankTrace trace = trace_with_launches();
  trace.last_event = {50};
  REQUIRE(check_invariants(trace) == "");
  forget_threads(trace);
  CHECK(trace.launches.thread.capacity() == 0);
  CHECK(trace.launches.start == Column<LocalNs>{{1}, {2}});
  CHECK(check_invariants(trace) == "");
  trace.launches.thread = {1, 1};
  CHECK(check_invariants(trace) != "");
}

TEST_CASE("launches of a trace that is too large to be packed are given back, too") {
  RankTrace trace = trace_with_launches();
  forget_launches(trace);
  for_each_column(trace.launches, [](const auto& column) { CHECK(column.capacity() == 0); });
  CHECK(trace.gpu.launch.capacity() == 0);
  CHECK(trace.gpu.stream.capacity() == 0);
  CHECK(trace.gpu.device.capacity() == 0);
}

TEST_CASE("rows that are forgotten give their memory back, and calls stay") {
  for (const bool packed : {true, false}) {
    RankTrace trace = trace_with_launches();
    trace.calls.resize(2);
    if (packed) TracePacker().pack(trace);
    const std::weak_ptr<ColumnBlock> rows = trace.gpu.start.get_allocator().block();
    forget_rows(trace);
    CHECK(rows.expired());
    CHECK(trace.gpu.size() == 0);
    CHECK(trace.launches.size() == 0);
    for (const size_t capacity :
         {trace.gpu.start.capacity(), trace.gpu.duration_ns.capacity(), trace.gpu.work.capacity(),
          trace.gpu.name.capacity(), trace.launches.start.capacity()}) {
      CHECK(capacity == 0);
    }
    CHECK(trace.calls.size() == 2);
  }
}

TEST_CASE("messages that are forgotten give their memory back, and calls stay") {
  RankTrace trace = trace_with_launches();
  trace.calls.resize(2);
  trace.messages.resize(3);
  TracePacker().pack(trace);
  const std::weak_ptr<ColumnBlock> messages = trace.messages.get_allocator().block();
  REQUIRE_FALSE(messages.expired());
  forget_messages(trace);
  CHECK(messages.expired());
  CHECK(trace.calls.size() == 2);
}
