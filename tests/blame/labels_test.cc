// Every instant of a GPU has one label.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "src/blame/line/gpu_labels.h"
#include "tests/job_builder.h"

using namespace skewscope;
using namespace skewscope::blame;

namespace {

// Computing 0-10 us, copying 8-15, a collective 12-40 that waits until 30, idle, a kernel 60-70 launched at 56.
GpuLabels some_labels() {
  JobBuilder builder(1);
  const CommunicatorId group = builder.communicator("g", {0});
  builder.gpu_row(0, GpuWork::compute, 0, 10);
  builder.gpu_row(0, GpuWork::memcpy, 8, 15);
  builder.gpu_row(0, GpuWork::compute, 60, 70);
  builder.call(0, group, 12, 40);
  RankTrace& trace = builder.trace(0);
  trace.launches.start = {LocalNs{52'000}};
  trace.launches.duration_ns = {4'000};
  trace.launches.thread = {1};
  trace.gpu.launch.back() = 0;
  return GpuLabels(trace, {{18'000, Label::transfer}});
}

LabelTimes times(int64_t computing, int64_t copying, int64_t transfer, int64_t waiting, int64_t host, int64_t idle) {
  return {computing, copying, transfer, waiting, 0, host, idle};
}

LabelTimes between(const GpuLabels& labels, int64_t from, int64_t to) {
  GpuLabels::Walk walk(labels);
  const LabelTimes before = walk.up_to(LocalNs{from});
  return walk.up_to(LocalNs{to}) - before;
}

}  // namespace

TEST_CASE("computing hides copies, copies hide waiting, waiting comes before transfer") {
  const GpuLabels labels = some_labels();
  CHECK(between(labels, 0, 40'000) == times(10'000, 5'000, 10'000, 15'000, 0, 0));
  CHECK(between(labels, 9'000, 13'000) == times(1'000, 3'000, 0, 0, 0, 0));
}

TEST_CASE("an idle span is the host's when the row that ends it was launched just before it started") {
  const GpuLabels labels = some_labels();
  CHECK(between(labels, 40'000, 60'000) == times(0, 0, 0, 0, 20'000, 0));
}

TEST_CASE("an idle span is the host's until the launch, and idle from there where the row started much later") {
  JobBuilder builder(1);
  builder.gpu_row(0, GpuWork::compute, 0, 10);
  builder.gpu_row(0, GpuWork::compute, 100, 110);
  RankTrace& trace = builder.trace(0);
  trace.launches.start = {LocalNs{20'000}};
  trace.launches.duration_ns = {10'000};
  trace.launches.thread = {1};
  trace.gpu.launch.back() = 0;
  const GpuLabels labels(trace, {});
  CHECK(between(labels, 10'000, 100'000) == times(0, 0, 0, 0, 20'000, 70'000));
}

TEST_CASE("labels of a span sum to its length, within the trace and beside it") {
  const GpuLabels labels = some_labels();
  for (const int64_t from : {-5'000, 0, 7'000, 39'000, 65'000, 90'000}) {
    for (const int64_t length : {0, 1, 4'000, 33'333, 200'000}) {
      int64_t sum = 0;
      for (const int64_t ns : between(labels, from, from + length)) sum += ns;
      CHECK(sum == length);
    }
  }
}

TEST_CASE("of many spans each has the time of its own rows, in whatever order they are asked for") {
  JobBuilder builder(1);
  for (int i = 0; i < 100; ++i) builder.gpu_row(0, i % 3 == 0 ? GpuWork::memcpy : GpuWork::compute, 10 * i, 10 * i + 4);
  const GpuLabels labels(builder.trace(0), {});
  for (const int stride : {1, 7, 99}) {
    for (int n = 0; n < 100; ++n) {
      const int i = n * stride % 100;
      const LabelTimes row = i % 3 == 0 ? times(0, 4'000, 0, 0, 0, 0) : times(4'000, 0, 0, 0, 0, 0);
      CHECK(between(labels, int64_t{10'000} * i, int64_t{10'000} * i + 4'000) == row);
    }
  }
  CHECK(between(labels, 0, 1'000'000) == times(66 * 4'000, 34 * 4'000, 0, 0, 0, 600'000));
}

TEST_CASE("every microsecond of rows that overlap at random has the label that a look at all rows gives it") {
  constexpr int64_t kWindow = 400;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<unsigned>(most)); };
    struct Row {
      GpuWork work;
      int64_t begin, end, launched;
    };
    std::vector<Row> rows;
    for (int64_t at = 5; at < kWindow - 60; at += below(seed % 3 == 0 ? 4 : 30)) {
      const GpuWork work = below(4) == 0 ? GpuWork::memcpy : GpuWork::compute;
      rows.push_back({work, at, at + below(20), std::max<int64_t>(0, at - below(40))});
    }
    JobBuilder builder(1);
    RankTrace& trace = builder.trace(0);
    for (const Row& row : rows) {
      builder.gpu_row(0, row.work, static_cast<double>(row.begin), static_cast<double>(row.end));
      trace.launches.start.push_back(LocalNs{row.launched * 1000});
      trace.launches.duration_ns.push_back(0);
      trace.launches.thread.push_back(1);
      trace.gpu.launch.back() = static_cast<int32_t>(trace.launches.start.size()) - 1;
    }
    const auto runs = [&](GpuWork work, int64_t us) {
      return std::any_of(rows.begin(), rows.end(),
                         [&](const Row& row) { return row.work == work && row.begin <= us && us < row.end; });
    };
    const auto busy = [&](int64_t us) { return runs(GpuWork::compute, us) || runs(GpuWork::memcpy, us); };
    const auto label_at = [&](int64_t us) {
      if (runs(GpuWork::compute, us)) return Label::computing;
      if (runs(GpuWork::memcpy, us)) return Label::copying;
      int64_t from = us, to = us, launched = -1;
      while (from > 0 && !busy(from - 1)) --from;
      while (to < kWindow && !busy(to)) ++to;
      if (from == 0 || to == kWindow) return Label::idle;  // no row before it, or none behind
      for (const Row& row : rows) {
        if (row.begin == to && row.end > row.begin) launched = std::max(launched, row.launched);
      }
      if (launched <= from) return Label::idle;
      return launched * 1000 < to * 1000 - kLaunchDelay_ns && us >= launched ? Label::idle : Label::host;
    };
    const GpuLabels labels(trace, {});
    for (int64_t us = 0; us < kWindow; ++us) {
      LabelTimes expected{};
      expected[static_cast<size_t>(label_at(us))] = 1000;
      CAPTURE(us);
      CHECK(between(labels, us * 1000, us * 1000 + 1000) == expected);
    }
  }
}
