// Which of a log's numbered calls a trace's calls are: durations by hand, from a generator that the reader can follow.
#include <algorithm>
#include <catch2/catch.hpp>

#include "src/ingest/inspector/call_numbers.h"

using namespace skewscope::ingest;

namespace {

// Calls one after the other, of 100 us to 1.1 ms, as different as waiting makes them.
std::vector<ComparedCall> calls_of_a_job(int64_t count) {
  std::vector<ComparedCall> calls;
  uint32_t state = 1;
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    ComparedCall call;
    call.number = i;
    call.bytes = 1 << 20;
    call.duration_ns = 100'000 + state % 1'000'000;
    at += 500'000 + call.duration_ns;
    call.end_ns = at;
    calls.push_back(call);
  }
  return calls;
}

// As the other tracer measured them: 1.5 us longer, without numbers.
std::vector<ComparedCall> traced(const std::vector<ComparedCall>& calls, size_t begin, size_t end) {
  std::vector<ComparedCall> seen(calls.begin() + static_cast<ptrdiff_t>(begin),
                                 calls.begin() + static_cast<ptrdiff_t>(end));
  for (ComparedCall& call : seen) {
    call.duration_ns += 1'500;
    call.number = -1;
  }
  return seen;
}

constexpr bool kTimed = true, kUntimed = false;

}  // namespace

TEST_CASE("calls of a window are found in a long log by how long they took") {
  const auto log = calls_of_a_job(5'000);
  const NumberedCalls found = number_calls(log, traced(log, 3'000, 3'100), kUntimed);
  REQUIRE(found.found == 100);
  for (size_t i = 0; i < 100; ++i) REQUIRE(found.log_row[i] == static_cast<int32_t>(3'000 + i));
}

TEST_CASE("calls that are all alike are found by their ends, and without times they are not") {
  auto log = calls_of_a_job(1'000);
  for (ComparedCall& call : log) call.duration_ns = 100'000;
  const auto trace = traced(log, 400, 420);
  REQUIRE(number_calls(log, trace, kTimed).log_row[0] == 400);
  REQUIRE(number_calls(log, trace, kUntimed).found == 0);
}

TEST_CASE("a log that lacks small calls numbers the others all the same") {
  const auto all = calls_of_a_job(1'000);
  const auto trace = traced(all, 500, 700);
  std::vector<ComparedCall> log;
  for (const ComparedCall& call : all) {
    if (call.number % 3 != 0) log.push_back(call);
  }
  const NumberedCalls found = number_calls(log, trace, kUntimed);
  for (size_t i = 0; i < trace.size(); ++i) {
    const int64_t number = 500 + static_cast<int64_t>(i);
    const int32_t row = found.log_row[i];
    REQUIRE((row >= 0) == (number % 3 != 0));
    if (row >= 0) REQUIRE(log[static_cast<size_t>(row)].number == number);
  }
}

TEST_CASE("where a trace lost kernels, calls behind are found again, and none is taken for another") {
  const auto log = calls_of_a_job(3'000);
  auto trace = traced(log, 1'000, 2'000);
  trace.erase(trace.begin() + 300, trace.begin() + 303);
  const NumberedCalls found = number_calls(log, trace, kUntimed);
  REQUIRE(found.found > 900);
  for (size_t i = 0; i < trace.size(); ++i) {
    const int32_t row = found.log_row[i];
    if (row >= 0) REQUIRE(log[static_cast<size_t>(row)].end_ns == trace[i].end_ns);
  }
}

TEST_CASE("calls of other sizes, or of another job, are not in the log") {
  const auto log = calls_of_a_job(2'000);
  auto larger = traced(log, 500, 600);
  for (ComparedCall& call : larger) call.bytes *= 2;
  REQUIRE(number_calls(log, larger, kTimed).found == 0);
  auto other = traced(log, 500, 600);
  std::reverse(other.begin(), other.end());
  REQUIRE(number_calls(log, other, kUntimed).found == 0);
  REQUIRE(number_calls({}, other, kUntimed).found == 0);
}
