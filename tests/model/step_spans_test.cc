// How a trace's window is cut into steps: small cases worked out by hand, in nanoseconds.
#include "skewscope/model/step_spans.h"

#include <catch2/catch.hpp>
#include <random>

using namespace skewscope;

namespace {

struct Row {
  int64_t launched, start, end;  // launched -1: the trace has no launch
  int32_t stream = 7;
};

RankTrace trace_of(std::vector<StepRange> steps, std::vector<Row> rows) {
  RankTrace trace;
  trace.steps = std::move(steps);
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.launched < b.launched; });
  std::vector<std::pair<Row, int32_t>> by_start;
  for (const Row& row : rows) {
    by_start.emplace_back(row, row.launched < 0 ? -1 : static_cast<int32_t>(trace.launches.start.size()));
    if (row.launched < 0) continue;
    trace.launches.start.push_back(LocalNs{row.launched});
    trace.launches.duration_ns.push_back(1);
  }
  std::stable_sort(by_start.begin(), by_start.end(),
                   [](const auto& a, const auto& b) { return a.first.start < b.first.start; });
  for (const auto& [row, launch] : by_start) {
    trace.gpu.start.push_back(LocalNs{row.start});
    trace.gpu.duration_ns.push_back(row.end - row.start);
    trace.gpu.device.push_back(0);
    trace.gpu.stream.push_back(row.stream);
    trace.gpu.launch.push_back(launch);
  }
  return trace;
}

void check(const StepSpan& span, StepPlace place, int64_t number, int64_t begin, int64_t end, int64_t rows) {
  CHECK(span.place == place);
  CHECK(span.number == number);
  CHECK(span.begin.ns == begin);
  CHECK(span.end.ns == end);
  CHECK(span.rows == rows);
}

constexpr auto kStep = StepPlace::step;

}  // namespace

TEST_CASE("a step is what was launched in it, though its host was two steps further when it ran") {
  const auto spans = step_spans(
      trace_of({{1, {0}, 10}, {2, {10}, 10}, {3, {20}, 10}}, {{5, 100, 150}, {15, 150, 180}, {25, 190, 250}}));
  REQUIRE(spans.size() == 3);
  check(spans[0], kStep, 1, 100, 150, 1);
  check(spans[1], kStep, 2, 150, 180, 1);
  check(spans[2], kStep, 3, 180, 250, 1);  // from the end of the one before
  CHECK(spans[2].host_start.ns == 20);
  CHECK(spans[2].host_ns == 10);
}

TEST_CASE("the tail of a step on another stream belongs to it, whatever the next step runs beside it") {
  // A collective of step 1 runs until 200; step 2 computes from 120 on.
  const auto spans = step_spans(
      trace_of({{1, {0}, 10}, {2, {10}, 10}}, {{1, 100, 120}, {2, 110, 200}, {11, 120, 160}, {12, 200, 230}}));
  REQUIRE(spans.size() == 2);
  check(spans[0], kStep, 1, 100, 200, 2);
  check(spans[1], kStep, 2, 200, 230, 2);
}

TEST_CASE("a step that is over before the one before it has no length") {
  const auto spans = step_spans(
      trace_of({{1, {0}, 10}, {2, {10}, 10}, {3, {20}, 10}}, {{1, 100, 300}, {11, 120, 160}, {21, 310, 350}}));
  REQUIRE(spans.size() == 3);
  check(spans[1], kStep, 2, 300, 300, 1);
  check(spans[2], kStep, 3, 300, 350, 1);
}

TEST_CASE("rows launched before recording began are in no step, also where they end beside the first one") {
  const auto spans = step_spans(trace_of({{1, {0}, 10}, {2, {10}, 10}}, {{-1, 50, 70},
                                                                         {-1, 60, 120, 24},  // tail of a collective
                                                                         {5, 100, 150},
                                                                         {6, 130, 160, 24},
                                                                         {15, 180, 200}}));
  REQUIRE(spans.size() == 3);
  check(spans[0], StepPlace::before, -1, 50, 120, 2);
  check(spans[1], kStep, 1, 120, 160, 2);
  check(spans[2], kStep, 2, 160, 200, 1);
}

TEST_CASE("rows whose launch was lost cut nothing: they are part of what they ran in") {
  const auto spans =
      step_spans(trace_of({{1, {0}, 10}, {2, {10}, 10}}, {{5, 100, 150},
                                                          {-1, 140, 170},
                                                          {15, 180, 200},
                                                          {-1, 190, 195, 99},  // a stream without any launch
                                                          {-1, 210, 220}}));
  REQUIRE(spans.size() == 3);
  check(spans[0], kStep, 1, 100, 150, 1);
  check(spans[1], kStep, 2, 150, 200, 1);
  check(spans[2], StepPlace::after, -1, 200, 220, 0);
}

TEST_CASE("what a host launched outside of its steps is in none: before, between and after") {
  const auto spans = step_spans(trace_of(
      {{1, {10}, 10}, {2, {30}, 10}}, {{5, 100, 110}, {15, 120, 150}, {25, 160, 190}, {35, 195, 240}, {45, 250, 260}}));
  REQUIRE(spans.size() == 5);
  check(spans[0], StepPlace::before, -1, 100, 120, 1);
  check(spans[1], kStep, 1, 120, 150, 1);
  check(spans[2], StepPlace::between, -1, 150, 190, 1);
  check(spans[3], kStep, 2, 190, 240, 1);
  check(spans[4], StepPlace::after, -1, 240, 260, 1);
}

TEST_CASE("between steps that do not follow one another, the GPU's time is in no step") {
  const auto spans = step_spans(trace_of({{1, {0}, 10}, {5, {50}, 10}}, {{5, 100, 150}, {55, 180, 200}}));
  REQUIRE(spans.size() == 3);
  check(spans[1], StepPlace::between, -1, 150, 180, 0);
  check(spans[2], kStep, 5, 180, 200, 1);
}

TEST_CASE("a step in which nothing was launched is not there, and the next one begins with its first row") {
  const auto spans =
      step_spans(trace_of({{1, {0}, 10}, {2, {10}, 10}, {3, {20}, 10}}, {{5, 100, 150}, {25, 180, 200}}));
  REQUIRE(spans.size() == 3);
  check(spans[1], StepPlace::between, -1, 150, 180, 0);
  check(spans[2], kStep, 3, 180, 200, 1);
}

TEST_CASE("two ranges of one number are one step") {
  const auto spans = step_spans(trace_of({{1, {0}, 10}, {1, {20}, 10}}, {{5, 100, 150}, {25, 180, 200}}));
  REQUIRE(spans.size() == 1);
  check(spans[0], kStep, 1, 100, 200, 2);
  CHECK(spans[0].host_ns == 30);
}

TEST_CASE("a trace without steps, or without GPU rows, has no spans") {
  CHECK(step_spans(trace_of({}, {{5, 100, 150}})).empty());
  CHECK(step_spans(trace_of({{1, {0}, 10}}, {})).empty());
  CHECK(step_spans(trace_of({{1, {0}, 10}}, {{-1, 100, 150}})).empty());
}

TEST_CASE("steps and the rest lie end to end from the first row to the last end, whatever ran when") {
  std::mt19937 random(7);
  const auto up_to = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)); };
  for (int round = 0; round < 300; ++round) {
    std::vector<StepRange> steps;
    int64_t at = 0, number = 0;
    for (int64_t s = up_to(6); s >= 0; --s) {
      number += 1 + up_to(2);
      const int64_t start = at + up_to(20), length = up_to(50);
      steps.push_back({number, {start}, length});
      at = start + length;
    }
    std::vector<Row> rows;
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (int64_t r = up_to(40); r >= 0; --r) {
      const int64_t launched = up_to(8) == 0 ? -1 : up_to(at + 20), start = up_to(500), end = start + up_to(100);
      rows.push_back({launched, start, end});
      first = std::min(first, start);
      last = std::max(last, end);
    }
    const RankTrace trace = trace_of(steps, rows);
    const auto spans = step_spans(trace);
    if (spans.empty()) continue;
    CHECK(spans.front().begin.ns == first);
    CHECK(spans.back().end.ns == last);
    int64_t launched = 0, without_launch = 0;
    for (const Row& row : rows) without_launch += row.launched < 0 ? 1 : 0;
    for (size_t i = 0; i < spans.size(); ++i) {
      if (i > 0) CHECK(spans[i].begin == spans[i - 1].end);
      CHECK(spans[i].begin <= spans[i].end);
      launched += spans[i].rows;
    }
    CHECK(launched >= std::ssize(trace.launches.start));
    CHECK(launched <= std::ssize(trace.launches.start) + without_launch);
  }
}

TEST_CASE("a step knows how long its host launched and waited for the GPU; of several threads a moment counts once") {
  RankTrace trace = trace_of({{1, {0}, 100}, {2, {100}, 100}}, {{10, 200, 250}, {12, 250, 300}, {150, 300, 350}});
  trace.launches.duration_ns[0] = 5;  // from 10 to 15, and 12 to 20 on another thread: 10 in all
  trace.launches.duration_ns[1] = 8;
  trace.launches.duration_ns[2] = 4;
  trace.synchronizing.push_back({LocalNs{80}, 50});  // across the border of the steps
  const auto spans = step_spans(trace);
  REQUIRE(spans.size() == 2);
  CHECK(spans[0].host_launch_ns == 10);
  CHECK(spans[0].host_wait_ns == 20);
  CHECK(spans[1].host_launch_ns == 4);
  CHECK(spans[1].host_wait_ns == 30);
}

TEST_CASE("of a trace without launches it is not known what the host did") {
  const auto spans = host_step_spans(trace_of({{1, {0}, 100}}, {}));
  REQUIRE(spans.size() == 1);
  CHECK(spans[0].host_launch_ns == -1);
  CHECK(spans[0].host_wait_ns == -1);
}
